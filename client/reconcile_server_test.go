package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward/client"
	"github.com/onceward/onceward/client/reconcile"
)

func reconcileOptions(namespace string) reconcile.Options {
	return reconcile.Options{Namespace: namespace, Actor: "test", Reason: "as the source says"}
}

// flagged are the names of the namespace's flagged entities, with their reasons.
func (s *realServer) flagged(t *testing.T, namespace string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for e, err := range s.client.ListEntities(t.Context(), namespace) {
		if err != nil {
			t.Fatal(err)
		}
		out[e.Entity] = e.State.GetReconcileReason()
	}
	return out
}

func TestServer_ReconcilesWhatIsFlagged(t *testing.T) {
	s := startServerWith(t, orderPolicies)
	s.apply(t, numbered("charges", 1), client.Applied)
	for entity, events := range map[string][]client.ApplyRequest{
		"tied":   {{Version: client.Sequence(2), EventID: "a"}, {Version: client.Sequence(2), EventID: "b"}},
		"denied": {{Version: client.Sequence(1), EventID: "a", State: "pending"}, {Version: client.Sequence(3), EventID: "c", State: "refunded"}},
		"fine":   {{Version: client.Sequence(1), EventID: "a", State: "pending"}},
	} {
		for _, req := range events {
			req.Namespace, req.Consumer, req.Entity = "charges", "mirror", entity
			if _, err := s.client.Apply(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, want := s.flagged(t, "charges"), map[string]string{"tied": "tie", "denied": "transition"}; !cmp.Equal(got, want) {
		t.Fatalf("flagged are %v, want %v", got, want)
	}
	source := map[string]reconcile.Truth{
		"tied":   {Version: client.Sequence(2), EventID: "b", State: "expired"},
		"denied": {Version: client.Sequence(3), EventID: "c", State: "refunded"},
	}
	report, err := reconcile.Run(t.Context(), s.client, reconcileOptions("charges"), func(_ context.Context, e client.ListedEntity) (reconcile.Truth, error) {
		return source[e.Entity], nil
	})
	if err != nil || report != (reconcile.Report{Flagged: 2, Reconciled: 2}) {
		t.Errorf("got %+v, %v", report, err)
	}
	for entity, truth := range source {
		req := client.ApplyRequest{Namespace: "charges", Consumer: "mirror", Entity: entity}
		if e := s.entity(t, req); e.GetNeedsReconcile() || e.GetState() != truth.State || e.GetEventId() != truth.EventID {
			t.Errorf("%s is %v", entity, e)
		}
		req.Version, req.EventID, req.State = truth.Version, truth.EventID, truth.State
		s.apply(t, req, client.AlreadyApplied)
	}
	if report, err = reconcile.Run(t.Context(), s.client, reconcileOptions("charges"), nil); err != nil || report.Flagged != 0 {
		t.Errorf("the next walk: %+v, %v", report, err)
	}
}

// The way on for events that are held back.
func TestServer_ReconcilingLetsHeldEventsGo(t *testing.T) {
	s := startServerWith(t, orderPolicies)
	s.apply(t, numbered("held", 1), client.Applied)
	s.apply(t, numbered("held", 5), client.Gap)
	saying := func(n uint64) reconcile.Ask {
		return func(_ context.Context, e client.ListedEntity) (reconcile.Truth, error) {
			if !cmp.Equal(missing(e.State), []uint64{2, 3, 4}) && n == 3 {
				t.Errorf("asked about %v", e.State)
			}
			return reconcile.Truth{Version: client.Sequence(n)}, nil
		}
	}
	for _, n := range []uint64{3, 0} { // up to 3; then a slow answer, older than that
		report, err := reconcile.Run(t.Context(), s.client, reconcileOptions("held"), saying(n))
		want := reconcile.Report{Flagged: 1, Reconciled: 1}
		if n == 0 {
			want = reconcile.Report{Flagged: 1, Stale: 1}
		}
		if err != nil || report != want {
			t.Errorf("told %d: %+v, %v", n, report, err)
		}
	}
	if e := s.entity(t, numbered("held", 1)); e.GetVersion().GetSequence() != 3 || !cmp.Equal(missing(e), []uint64{4}) {
		t.Errorf("the entity is %v", e)
	}
	s.apply(t, numbered("held", 4), client.Applied)
	s.apply(t, numbered("held", 5), client.Applied)
	if got := s.flagged(t, "held"); len(got) != 0 {
		t.Errorf("still flagged: %v", got)
	}
}

// More entities than a page holds, some of which the source does not know or
// has counted in another way.
func TestServer_ReconcilesManyAndReportsSome(t *testing.T) {
	s := startServerWith(t, orderPolicies)
	const entities = 230
	for i := range entities {
		req := numbered("snapshots", 2)
		req.Entity = fmt.Sprintf("charge-%d", i)
		s.apply(t, req, client.Applied)
	}
	report, err := reconcile.Run(t.Context(), s.client, reconcileOptions("snapshots"), func(_ context.Context, e client.ListedEntity) (reconcile.Truth, error) {
		switch e.Entity {
		case "charge-7":
			return reconcile.Truth{}, nil
		case "charge-8":
			return reconcile.Truth{Version: client.Decimal("9")}, nil
		}
		return reconcile.Truth{Version: client.Sequence(2)}, nil
	})
	want := reconcile.Report{Flagged: entities, Reconciled: entities - 2, Unknown: 1, Failed: 1}
	var failed *reconcile.EntityError
	if report != want || !errors.As(err, &failed) || failed.Entity.Entity != "charge-8" || client.Reason(failed.Err) != "VERSION_KIND_MISMATCH" {
		t.Errorf("got %+v, %v", report, err)
	}
	if got := s.flagged(t, "snapshots"); !cmp.Equal(got, map[string]string{"charge-7": "gap", "charge-8": "gap"}) {
		t.Errorf("still flagged: %v", got)
	}
}
