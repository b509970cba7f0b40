package cli_test

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// claim claims an event as a worker does.
func (s *service) claim(q *oncewardv1.CheckAndClaimRequest) *oncewardv1.CheckAndClaimResponse {
	s.t.Helper()
	v, err := s.worker.CheckAndClaim(s.t.Context(), q)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// hold claims a key for long enough.
func (s *service) hold(namespace, consumer, key string) *oncewardv1.CheckAndClaimResponse {
	s.t.Helper()
	v := s.claim(&oncewardv1.CheckAndClaimRequest{
		Namespace: namespace, Consumer: consumer, Key: key, Owner: "worker-1", Lease: durationpb.New(time.Hour),
	})
	if v.GetOutcome() != oncewardv1.ClaimOutcome_CLAIM_OUTCOME_CLAIMED {
		s.t.Fatalf("%s: %v", key, v)
	}
	return v
}

// park claims a key and sets it aside.
func (s *service) park(namespace, consumer, key, reason string) {
	s.t.Helper()
	v := s.hold(namespace, consumer, key)
	_, err := s.worker.Release(s.t.Context(), &oncewardv1.ReleaseRequest{
		Namespace: namespace, Consumer: consumer, Key: key, FencingToken: v.GetFencingToken(), Park: true, Reason: reason,
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// expire claims a key and waits until its lease is over.
func (s *service) expire(namespace, key string) {
	s.t.Helper()
	s.claim(&oncewardv1.CheckAndClaimRequest{Namespace: namespace, Key: key, Owner: "worker-1", Lease: durationpb.New(50 * time.Millisecond)})
	eventually(s.t, "the lease is over", func() bool { return s.state(namespace, "", key) == oncewardv1.ClaimState_CLAIM_STATE_EXPIRED })
}

func (s *service) state(namespace, consumer, key string) oncewardv1.ClaimState {
	s.t.Helper()
	v, err := s.worker.GetClaim(s.t.Context(), &oncewardv1.GetClaimRequest{Namespace: namespace, Consumer: consumer, Key: key})
	if err != nil {
		s.t.Fatal(err)
	}
	return v.GetClaim().GetState()
}

// apply tells an entity's event.
func (s *service) apply(namespace, entity string, v *oncewardv1.Version, eventID string) *oncewardv1.ApplyIfNewerResponse {
	s.t.Helper()
	answer, err := s.worker.ApplyIfNewer(s.t.Context(), &oncewardv1.ApplyIfNewerRequest{
		Namespace: namespace, Consumer: "ledger", Entity: entity, Version: v, EventId: eventID,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return answer
}

// gap leaves an entity at 1, with 2 to 4 missing.
func (s *service) gap(entity string) {
	s.t.Helper()
	s.apply("gaps", entity, sequence(1), "e1")
	if v := s.apply("gaps", entity, sequence(5), "e5"); v.GetOutcome() != oncewardv1.ApplyOutcome_APPLY_OUTCOME_GAP {
		s.t.Fatal(v)
	}
}

// tie leaves an entity at 3, with two events that claim it.
func (s *service) tie(namespace, entity string) {
	s.t.Helper()
	s.apply(namespace, entity, sequence(3), "e3")
	if v := s.apply(namespace, entity, sequence(3), "other"); v.GetOutcome() != oncewardv1.ApplyOutcome_APPLY_OUTCOME_TIE {
		s.t.Fatal(v)
	}
}

func (s *service) entity(namespace, entity string) *oncewardv1.GetEntityResponse {
	s.t.Helper()
	e, err := s.worker.GetEntity(s.t.Context(), &oncewardv1.GetEntityRequest{Namespace: namespace, Consumer: "ledger", Entity: entity})
	if err != nil {
		s.t.Fatal(err)
	}
	return e
}

func (s *service) log(namespace string) []*oncewardv1.Decision {
	s.t.Helper()
	page, err := s.admin.ListDecisions(s.t.Context(), &oncewardv1.ListDecisionsRequest{Namespace: namespace, PageSize: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	return page.GetDecisions()
}

func sequence(n uint64) *oncewardv1.Version {
	return &oncewardv1.Version{Value: &oncewardv1.Version_Sequence{Sequence: n}}
}
