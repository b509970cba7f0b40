package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/onceward/onceward/client"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

const orderedPolicies = "namespaces: {orders: {routing: entity}}"

// orderEvent is the nth event of one order.
func orderEvent(key string, n uint64) client.ClaimRequest {
	return client.ClaimRequest{
		Namespace: "orders", Key: key, Lease: 2 * time.Second,
		Order: &client.Order{Entity: "order-1", Version: client.Sequence(n)},
	}
}

func outOfOrder(err error) (o client.ApplyOutcome, retryAfter time.Duration) {
	var late *client.OutOfOrderError
	if errors.As(err, &late) {
		return late.Outcome, late.RetryAfter
	}
	return 0, 0
}

func TestOnce_TellsWhyAnEventIsOutOfOrder(t *testing.T) {
	entity := &oncewardv1.EntityState{
		Version: client.Sequence(5), State: "paid", Missing: []*oncewardv1.VersionRange{{First: 2, Last: 3}}, NeedsReconcile: true, ReconcileReason: "gap",
	}
	for outcome := client.AlreadyApplied; outcome <= client.Future; outcome++ {
		var retryAfter time.Duration
		answer := &oncewardv1.CheckAndClaimResponse{Outcome: client.OutOfOrder, OrderOutcome: outcome, Entity: entity}
		if outcome == client.Busy {
			retryAfter = 1500 * time.Millisecond
			answer.RetryAfter = durationpb.New(retryAfter)
		}
		f := &fakeServer{claim: func(int, *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
			return answer, nil
		}}
		inBubble(t, f, func(t *testing.T, c *client.Client) {
			_, err := c.Once(t.Context(), orderEvent("evt_6", 6), mustNotRun(t))
			var late *client.OutOfOrderError
			if !errors.As(err, &late) {
				t.Fatalf("%v: got %v", outcome, err)
			}
			want := &client.OutOfOrderError{Outcome: outcome, RetryAfter: retryAfter, Entity: entity}
			if diff := cmp.Diff(want, late, protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
			if len(f.claims) != 1 || len(f.releases)+len(f.completes) != 0 {
				t.Errorf("%v: asked %d times, released %v, completed %v", outcome, len(f.claims), f.releases, f.completes)
			}
		})
	}
}

func TestOnce_TellsWhereTheEntityStands(t *testing.T) {
	before, after := &oncewardv1.EntityState{Version: client.Sequence(5)}, &oncewardv1.EntityState{Version: client.Sequence(7), NeedsReconcile: true}
	f := &fakeServer{
		claim: func(_ int, req *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
			answer := claimed(req, 1, nil)
			answer.Entity = before
			return answer, nil
		},
		complete: func(int, *oncewardv1.CompleteRequest) (*oncewardv1.CompleteResponse, error) {
			return &oncewardv1.CompleteResponse{Outcome: client.Settled, State: client.StateCompleted, Entity: after}, nil
		},
	}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		look := func(err error) client.Func {
			return func(_ context.Context, claim *client.Claim) (client.Result, error) {
				if diff := cmp.Diff(before, claim.Entity, protocmp.Transform()); diff != "" {
					t.Error(diff)
				}
				return client.Result{Entity: before}, err
			}
		}
		done, err := c.Once(t.Context(), orderEvent("evt_7", 7), look(nil))
		if diff := cmp.Diff(after, done.Entity, protocmp.Transform()); diff != "" || err != nil {
			t.Error(err, diff)
		}
		_, err = c.Once(t.Context(), orderEvent("evt_7", 7), look(client.Terminal(errBoom)))
		var failed *client.FailedError
		if !errors.As(err, &failed) {
			t.Fatalf("got %v", err)
		}
		if diff := cmp.Diff(after, failed.Result.Entity, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestServer_OrderedEvents(t *testing.T) {
	s := startServerWith(t, orderedPolicies)
	ctx := t.Context()
	result, err := s.client.Once(ctx, orderEvent("evt_5", 5), func(ctx context.Context, claim *client.Claim) (client.Result, error) {
		if claim.Entity == nil || claim.Entity.GetVersion() != nil {
			t.Errorf("before the first event the entity is %v", claim.Entity)
		}
		return client.Result{}, claim.EffectStarted(ctx)
	})
	if err != nil || result.Entity.GetVersion().GetSequence() != 5 || result.Entity.GetEventId() != "evt_5" {
		t.Fatalf("got %+v, %v", result, err)
	}
	if result, err := s.client.Once(ctx, orderEvent("evt_5", 5), mustNotRun(t)); err != nil || !result.Replayed || result.Entity != nil {
		t.Errorf("the same event again: got %+v, %v", result, err)
	}
	_, err = s.client.Once(ctx, orderEvent("evt_4", 4), mustNotRun(t))
	if outcome, _ := outOfOrder(err); outcome != client.Stale {
		t.Errorf("an older event: got %v", err)
	}
	s.client.Once(ctx, orderEvent("evt_6", 6), failWith(errBoom))
	if record := s.claim(t, orderEvent("evt_6", 6)); record.State != client.StateReleased {
		t.Errorf("the failed event is %+v", record)
	}
}

func TestServer_OrderedEventsOfOneEntityAreSerial(t *testing.T) {
	s := startServerWith(t, orderedPolicies)
	waiting := make(chan error, 1)
	_, err := s.client.Once(t.Context(), orderEvent("evt_1", 1), func(context.Context, *client.Claim) (client.Result, error) {
		_, err := s.client.Once(t.Context(), orderEvent("evt_2", 2), mustNotRun(t))
		if outcome, retryAfter := outOfOrder(err); outcome != client.Busy || retryAfter <= 0 {
			t.Errorf("the next event meanwhile: got %v", err)
		}
		go func() {
			patient := orderEvent("evt_2", 2)
			patient.Wait = generous
			_, err := s.client.Once(t.Context(), patient, succeed)
			waiting <- err
		}()
		return client.Result{}, nil
	})
	if err := errors.Join(err, <-waiting); err != nil {
		t.Error(err)
	}
}
