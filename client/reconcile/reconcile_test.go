package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/onceward/onceward/client"
	"github.com/onceward/onceward/client/reconcile"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

var errBoom = errors.New("boom")

func options() reconcile.Options {
	return reconcile.Options{Namespace: "stripe-live", Actor: "reconciler", Reason: "hourly"}
}

func paid(context.Context, client.ListedEntity) (reconcile.Truth, error) {
	return reconcile.Truth{Version: client.Sequence(9), EventID: "evt_9", State: "paid"}, nil
}

func names(from, to int) (out []string) {
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprintf("ch_%d", i))
	}
	return out
}

func TestRun_WalksEveryPageAndTellsWhatTheSourceSaid(t *testing.T) {
	f := &fakeServer{entities: flagged("ch_1", "ch_2", "ch_3", "ch_4", "ch_5")}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		var mu sync.Mutex
		asked := map[string]client.ListedEntity{}
		report, err := reconcile.Run(t.Context(), c, options(), func(ctx context.Context, e client.ListedEntity) (reconcile.Truth, error) {
			mu.Lock()
			asked[e.Entity] = e
			mu.Unlock()
			return paid(ctx, e)
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := (reconcile.Report{Flagged: 5, Reconciled: 5}); report != want {
			t.Errorf("got %+v, want %+v", report, want)
		}
		want := client.ListedEntity{
			EntityRef: client.EntityRef{Namespace: "stripe-live", Consumer: "mirror", Entity: "ch_4"},
			State:     f.entities[3].State,
		}
		if diff := cmp.Diff(want, asked["ch_4"], protocmp.Transform()); diff != "" || len(asked) != 5 {
			t.Error(len(asked), diff)
		}
		if len(f.lists) != 4 || f.lists[0].GetNamespace() != "stripe-live" {
			t.Errorf("listed with %v", f.lists)
		}
		set := &oncewardv1.ReconcileEntityRequest{
			Namespace: "stripe-live", Consumer: "mirror", Entity: f.sets[0].GetEntity(),
			Version: client.Sequence(9), EventId: "evt_9", State: "paid", Actor: "reconciler", Reason: "hourly",
		}
		if diff := cmp.Diff(set, f.sets[0], protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRun_CountsHowEachEntityEnded(t *testing.T) {
	f := &fakeServer{
		entities: flagged(names(1, 10)...),
		set: func(req *oncewardv1.ReconcileEntityRequest) (*oncewardv1.ReconcileEntityResponse, error) {
			switch req.GetEntity() {
			case "ch_2", "ch_3":
				return &oncewardv1.ReconcileEntityResponse{Outcome: client.Stale}, nil
			case "ch_4":
				return nil, status.Error(codes.FailedPrecondition, "another kind of version")
			case "ch_5":
				return &oncewardv1.ReconcileEntityResponse{Outcome: client.Tie}, nil
			}
			return nil, nil
		},
	}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		report, err := reconcile.Run(t.Context(), c, options(), func(ctx context.Context, e client.ListedEntity) (reconcile.Truth, error) {
			switch e.Entity {
			case "ch_6":
				return reconcile.Truth{}, errBoom
			case "ch_7":
				return reconcile.Truth{}, nil
			case "ch_8":
				return reconcile.Truth{State: "paid"}, nil // an entity without versions
			}
			return paid(ctx, e)
		})
		if want := (reconcile.Report{Flagged: 10, Reconciled: 4, Stale: 2, Unknown: 1, Failed: 3}); report != want {
			t.Errorf("got %+v, want %+v", report, want)
		}
		failed := map[string]error{}
		for _, e := range unjoin(err) {
			var entity *reconcile.EntityError
			if !errors.As(e, &entity) || strings.Contains(e.Error(), "ch_") {
				t.Errorf("got error %v", e)
				continue
			}
			failed[entity.Entity.Entity] = entity.Err
		}
		if len(failed) != 3 || status.Code(failed["ch_4"]) != codes.FailedPrecondition ||
			!errors.Is(failed["ch_5"], client.ErrUnknownOutcome) || failed["ch_6"] != errBoom {
			t.Errorf("failed: %v", failed)
		}
	})
}

func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return nil
}

func TestRun_RemembersSoManyErrorsAndCountsAll(t *testing.T) {
	f := &fakeServer{entities: flagged(names(1, 250)...)}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		report, err := reconcile.Run(t.Context(), c, options(), func(context.Context, client.ListedEntity) (reconcile.Truth, error) {
			return reconcile.Truth{}, errBoom
		})
		if n := len(unjoin(err)); n != 100 || report.Failed != 250 || report.Flagged != 250 {
			t.Errorf("%d errors, %+v", n, report)
		}
	})
}

func TestRun_AsksAboutSoManyAtATime(t *testing.T) {
	for set, want := range map[int]int{0: reconcile.DefaultConcurrency, -1: reconcile.DefaultConcurrency, 1: 1, 7: 7} {
		f := &fakeServer{entities: flagged(names(1, 30)...)}
		inBubble(t, f, func(t *testing.T, c *client.Client) {
			var mu sync.Mutex
			asking, most := 0, 0
			o := options()
			o.Concurrency = set
			_, err := reconcile.Run(t.Context(), c, o, func(ctx context.Context, e client.ListedEntity) (reconcile.Truth, error) {
				mu.Lock()
				asking++
				most = max(most, asking)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				asking--
				mu.Unlock()
				return paid(ctx, e)
			})
			if err != nil || most != want {
				t.Errorf("concurrency %d: %d at a time, want %d; %v", set, most, want, err)
			}
		})
	}
}

func TestRun_AListThatFailsEndsTheWalkButNotWhatWasHandedOut(t *testing.T) {
	down := status.Error(codes.PermissionDenied, "not yours")
	f := &fakeServer{entities: flagged(names(1, 6)...), list: func(page int) error {
		if page < 2 {
			return nil
		}
		return down
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		report, err := reconcile.Run(t.Context(), c, options(), paid)
		if status.Code(err) != codes.PermissionDenied || report != (reconcile.Report{Flagged: 2, Reconciled: 2}) {
			t.Errorf("got %+v, %v", report, err)
		}
	})
}

func TestRun_AListThatIsUnavailableForAMomentIsAskedAgain(t *testing.T) {
	failures := 0
	f := &fakeServer{entities: flagged("ch_1"), list: func(int) error {
		if failures++; failures < 4 {
			return status.Error(codes.Unavailable, "failing over")
		}
		return nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		report, err := reconcile.Run(t.Context(), c, options(), paid)
		if err != nil || report.Reconciled != 1 {
			t.Errorf("got %+v, %v", report, err)
		}
	})
}

func TestRun_EndsWithItsContext(t *testing.T) {
	tests := map[string]struct {
		entities int // of which four are asked about at a time
		asked    int // when the context ends
	}{
		"in the middle of the walk": {entities: 40, asked: 10},
		"at the last entity":        {entities: 4, asked: 4},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := &fakeServer{entities: flagged(names(1, test.entities)...)}
			inBubble(t, f, func(t *testing.T, c *client.Client) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var mu sync.Mutex
				asked := 0
				report, err := reconcile.Run(ctx, c, options(), func(ctx context.Context, e client.ListedEntity) (reconcile.Truth, error) {
					mu.Lock()
					asked++
					last := asked == test.asked
					mu.Unlock()
					if !last {
						time.Sleep(time.Second)
						return paid(ctx, e)
					}
					cancel()
					<-ctx.Done()
					return reconcile.Truth{}, ctx.Err()
				})
				var entity *reconcile.EntityError
				if !errors.Is(err, context.Canceled) || errors.As(err, &entity) || report.Failed != 0 {
					t.Errorf("got %+v, %v", report, err)
				}
				if asked > test.asked || report.Flagged != asked || report.Reconciled >= asked {
					t.Errorf("asked about %d entities, %+v", asked, report)
				}
				wantNoGoroutines(t)
			})
		})
	}
}

func wantNoGoroutines(t *testing.T) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if strings.Contains(string(stacks), "reconcile.(*run)") {
		t.Errorf("left behind:\n%s", stacks)
	}
}

func TestRun_RequiresWhoAndWhy(t *testing.T) {
	for _, o := range []reconcile.Options{
		{Actor: "a", Reason: "r"}, {Namespace: "n", Reason: "r"}, {Namespace: "n", Actor: "a"},
	} {
		f := &fakeServer{}
		inBubble(t, f, func(t *testing.T, c *client.Client) {
			if _, err := reconcile.Run(t.Context(), c, o, paid); err == nil || len(f.lists) != 0 {
				t.Errorf("%+v was accepted", o)
			}
		})
	}
}
