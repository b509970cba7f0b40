package client_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/onceward/onceward/client"
)

const orderPolicies = `
namespaces:
  held: {ordering: {gap: hold, first: 1}}
  snapshots: {ordering: {gap: apply, first: 1}}
  charges: {ordering: {transitions: {pending: [paid, expired], expired: [paid], paid: [refunded]}}}
  orders: {routing: entity}
  counted: {routing: entity, ordering: {gap: hold, first: 1}}
`

// numbered is the nth event of one charge.
func numbered(namespace string, n uint64) client.ApplyRequest {
	return client.ApplyRequest{
		Namespace: namespace, Consumer: "mirror", Entity: "charge-1", Version: client.Sequence(n), EventID: fmt.Sprintf("evt_%d", n),
	}
}

// apply asks, and wants this answer.
func (s *realServer) apply(t *testing.T, req client.ApplyRequest, want client.ApplyOutcome) *client.ApplyResponse {
	t.Helper()
	got, err := s.client.Apply(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if got.Outcome != want {
		t.Errorf("%s: got %v, want %v", req.EventID, got.Outcome, want)
	}
	return got
}

// entity is what the service remembers of the request's.
func (s *realServer) entity(t *testing.T, req client.ApplyRequest) *client.EntityState {
	t.Helper()
	got, err := s.client.GetEntity(t.Context(), client.EntityRef{Namespace: req.Namespace, Consumer: req.Consumer, Entity: req.Entity})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func missing(e *client.EntityState) (out []uint64) {
	for _, r := range e.GetMissing() {
		for n := r.GetFirst(); n <= r.GetLast(); n++ {
			out = append(out, n)
		}
	}
	return out
}

func TestServer_Apply(t *testing.T) {
	s := startServer(t)
	if e := s.entity(t, numbered("any", 1)); e != nil {
		t.Errorf("an entity that nothing is known of is %v", e)
	}
	if first := s.apply(t, numbered("any", 5), client.Applied); !first.FirstSeen || first.PreviousVersion != nil {
		t.Errorf("the first event: %+v", first)
	}
	if next := s.apply(t, numbered("any", 7), client.Applied); next.FirstSeen || next.PreviousVersion.GetSequence() != 5 {
		t.Errorf("the next event: %+v", next)
	}
	s.apply(t, numbered("any", 7), client.AlreadyApplied)
	if late := s.apply(t, numbered("any", 6), client.Stale); late.Current.GetVersion().GetSequence() != 7 || late.FillsGap {
		t.Errorf("a late event: %+v", late)
	}
	other := numbered("any", 7)
	other.EventID = "evt_other"
	if tie := s.apply(t, other, client.Tie); tie.Current.GetReconcileReason() != "tie" || tie.Current.GetEventId() != "evt_7" {
		t.Errorf("another event of the same version: %+v", tie)
	}
	ahead := numbered("clocks", 1)
	ahead.Version = client.Timestamp(time.Now().AddDate(1, 0, 0))
	s.apply(t, ahead, client.Future)
	ahead.Entity, ahead.Version = "charge-2", client.Timestamp(time.Now().AddDate(0, -1, 0))
	s.apply(t, ahead, client.Applied)
}

func TestServer_ApplyRefusals(t *testing.T) {
	s := startServer(t)
	s.apply(t, numbered("any", 1), client.Applied)
	kind, unit, none := numbered("any", 1), numbered("any", 1), numbered("any", 1)
	kind.Version, unit.Version, none.Version = client.Decimal("2"), client.Timestamp(time.Unix(1, 0)), nil
	for reason, req := range map[string]client.ApplyRequest{"VERSION_KIND_MISMATCH": kind, "VERSION_UNIT": unit, "FIELD_INVALID": none} {
		answer, err := s.client.Apply(t.Context(), req)
		if client.Reason(err) != reason || answer != nil || status.Code(err) == codes.Unknown {
			t.Errorf("got %v, %v, want %s", answer, err, reason)
		}
	}
}

func TestServer_ApplyHoldsBackWhatComesAfterAHole(t *testing.T) {
	s := startServerWith(t, orderPolicies)
	s.apply(t, numbered("held", 1), client.Applied)
	gap := s.apply(t, numbered("held", 4), client.Gap)
	if gap.MissingCount != 2 || !cmp.Equal(missing(gap.Current), []uint64{2, 3}) || gap.Current.GetReconcileReason() != "gap" {
		t.Errorf("after a hole: %+v", gap)
	}
	s.apply(t, numbered("held", 2), client.Applied)
	s.apply(t, numbered("held", 4), client.Gap)
	if whole := s.apply(t, numbered("held", 3), client.Applied); whole.Current.GetNeedsReconcile() || whole.MissingCount != 0 {
		t.Errorf("after the hole was filled: %+v", whole)
	}
	s.apply(t, numbered("held", 4), client.Applied)
}

func TestServer_ApplyGoesOnAfterAHole(t *testing.T) {
	s := startServerWith(t, orderPolicies)
	if first := s.apply(t, numbered("snapshots", 3), client.Applied); first.MissingCount != 2 || !first.Current.GetNeedsReconcile() {
		t.Errorf("a late start: %+v", first)
	}
	if late := s.apply(t, numbered("snapshots", 1), client.Stale); !late.FillsGap || !cmp.Equal(missing(late.Current), []uint64{2}) {
		t.Errorf("the late first event: %+v", late)
	}
	if last := s.apply(t, numbered("snapshots", 2), client.Stale); !last.FillsGap || last.Current.GetNeedsReconcile() {
		t.Errorf("the last missing event: %+v", last)
	}
	s.apply(t, numbered("snapshots", 2), client.Stale)
}

func TestServer_ApplyKeepsToTheTransitions(t *testing.T) {
	s := startServerWith(t, orderPolicies)
	lifecycle := func(n uint64, state string) client.ApplyRequest {
		req := numbered("charges", n)
		req.State = state
		return req
	}
	s.apply(t, lifecycle(1, "pending"), client.Applied)
	if denied := s.apply(t, lifecycle(4, "refunded"), client.TransitionDenied); denied.Current.GetReconcileReason() != "transition" || denied.Current.GetState() != "pending" {
		t.Errorf("refunded after pending: %+v", denied)
	}
	s.apply(t, lifecycle(2, "expired"), client.Applied)
	s.apply(t, lifecycle(3, "paid"), client.Applied)
	s.apply(t, lifecycle(2, "expired"), client.Stale)
	s.apply(t, lifecycle(4, "chargeback"), client.TransitionDenied)
	s.apply(t, lifecycle(4, "refunded"), client.Applied)
	if e := s.entity(t, lifecycle(0, "")); e.GetState() != "refunded" || !e.GetNeedsReconcile() {
		t.Errorf("the entity is %v; its flag stays until reconciled", e)
	}
}

// What the documentation of Apply promises to whoever makes the event's id the
// RequestID.
func TestServer_ApplyAgainUnderTheSameRequestID(t *testing.T) {
	s := startServer(t)
	for i := range 3 {
		req := numbered("any", 5)
		req.RequestID = req.EventID
		if got := s.apply(t, req, client.Applied); got.Reentrant != (i > 0) {
			t.Errorf("delivery %d: %+v", i, got)
		}
	}
	s.apply(t, numbered("any", 6), client.Applied)
	req := numbered("any", 5)
	req.RequestID = req.EventID
	s.apply(t, req, client.Stale)
}

func TestServer_ApplyMeetsAClaimOfTheEntity(t *testing.T) {
	s := startServerWith(t, orderPolicies)
	next := client.ApplyRequest{Namespace: "orders", Entity: "order-1", Version: client.Sequence(2), EventID: "evt_2"}
	_, err := s.client.Once(t.Context(), orderEvent("evt_1", 1), func(context.Context, *client.Claim) (client.Result, error) {
		if busy := s.apply(t, next, client.Busy); busy.RetryAfter <= 0 || busy.RetryAfter > orderEvent("", 1).Lease {
			t.Errorf("come again after %v", busy.RetryAfter)
		}
		return client.Result{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.apply(t, next, client.Applied); got.PreviousVersion.GetSequence() != 1 {
		t.Errorf("got %+v", got)
	}
}

// The order's verdicts on ordered claims, one after the other.
func TestServer_OrderedEventsAfterAHole(t *testing.T) {
	s := startServerWith(t, orderPolicies)
	handle := func(n uint64, version uint64) (client.Result, error) {
		req := orderEvent(fmt.Sprintf("evt_%d", n), version)
		req.Namespace = "counted"
		return s.client.Once(t.Context(), req, succeed)
	}
	want := func(err error, want client.ApplyOutcome) {
		t.Helper()
		if got, retryAfter := outOfOrder(err); got != want || retryAfter != 0 {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	_, err := handle(2, 2)
	want(err, client.Gap)
	for n := range uint64(2) {
		if result, err := handle(n+1, n+1); err != nil || result.Entity.GetNeedsReconcile() {
			t.Errorf("event %d: %+v, %v", n+1, result, err)
		}
	}
	_, err = handle(3, 2)
	want(err, client.Tie)
	_, err = handle(4, 1)
	want(err, client.Stale)
	result, err := handle(5, 3)
	if err != nil || result.Entity.GetReconcileReason() != "tie" {
		t.Errorf("the next event of a flagged entity: %+v, %v", result, err)
	}
}
