package onceward

import (
	"context"
	"crypto/rand"
	"sync/atomic"
)

// Store keeps the records. Every method decides in one atomic step, answers
// before ctx ends, and is safe to repeat: a store may send a request twice, and
// the second run must find the first one's claim.
//
// The requests have been checked and have no unset durations except those that
// their own comments name. Every method may fail with RECORD_UNREADABLE,
// STORE_UNAVAILABLE, STORE_FULL, OVERLOADED, REPLICATION, DEADLINE or CANCELED; a failed
// call may have been carried out.
type Store interface {
	CheckAndClaim(ctx context.Context, q *CheckAndClaimRequest) (ClaimVerdict, error)

	// Complete also fails with FIELD_INVALID on result_retention, where the
	// retention that it must not exceed is the record's.
	Complete(ctx context.Context, q *CompleteRequest) (Settlement, error)

	// Release also fails with EFFECT_STARTED.
	Release(ctx context.Context, q *ReleaseRequest) (Settlement, error)

	ExtendLease(ctx context.Context, q *ExtendLeaseRequest) (Settlement, error)

	// GetClaim answers State Absent where there is no record.
	GetClaim(ctx context.Context, q *GetClaimRequest) (Claim, error)

	// ApplyIfNewer also fails with VERSION_KIND_MISMATCH.
	ApplyIfNewer(ctx context.Context, q *ApplyIfNewerRequest) (ApplyVerdict, error)

	// GetEntity answers an Entity that is not Known where there is no record.
	GetEntity(ctx context.Context, q *GetEntityRequest) (Entity, error)

	// ForgetClaim gives the claim as it was.
	ForgetClaim(ctx context.Context, q *ForgetClaimRequest) (Claim, error)

	// ResolveClaim gives the claim as it is then. It also fails with
	// CLAIM_NOT_FOUND, CLAIM_HELD and CLAIM_SETTLED.
	ResolveClaim(ctx context.Context, q *ResolveClaimRequest) (Claim, error)

	// ReconcileEntity gives Applied or Stale, and the entity as it is then. It
	// also fails with VERSION_KIND_MISMATCH.
	ReconcileEntity(ctx context.Context, q *ReconcileEntityRequest) (ApplyOutcome, Entity, error)

	// ForgetEntity gives the entity as it was.
	ForgetEntity(ctx context.Context, q *ForgetEntityRequest) (Entity, error)

	// The lists may give fewer than asked for, even none, without being at
	// their end.
	ListClaims(ctx context.Context, q *ListClaimsRequest) (ClaimsPage, error)
	ListEntities(ctx context.Context, q *ListEntitiesRequest) (EntitiesPage, error)
	ListDecisions(ctx context.Context, q *ListDecisionsRequest) (DecisionsPage, error)

	// Overview counts what waits in all namespaces, or in one.
	Overview(ctx context.Context, namespace string) (*Overview, error)
}

// Service checks requests, applies the namespace's policy and lets callers
// wait; what is decided, the store decides.
type Service struct {
	store    Store
	policies atomic.Pointer[Policies]
	waiting  *waitingRoom
	decided  func(rpc, namespace, outcome string)
}

// NewService returns a service over a store.
func NewService(store Store, policies *Policies) *Service {
	s := &Service{store: store, waiting: newWaitingRoom(), decided: func(_, _, _ string) {}}
	s.policies.Store(policies)
	return s
}

// OnDecision has f told of every decision: the call, its namespace and the
// outcome, or the reason of the error. The namespace is "" where the policies do
// not name it, so that callers cannot grow what f counts. To be set before the
// first call.
func (s *Service) OnDecision(f func(rpc, namespace, outcome string)) { s.decided = f }

// count tells of a decision.
func (s *Service) count(rpc, namespace string, outcome interface{ String() string }, err error) {
	if _, named := s.policies.Load().Namespaces[namespace]; !named {
		namespace = ""
	}
	word := "INTERNAL"
	if e, ok := err.(*Error); ok {
		word = string(e.Reason)
	} else if err == nil {
		word = outcome.String()
	}
	s.decided(rpc, namespace, word)
}

// Drain ends all waiting, now and in future: who waits is told IN_PROGRESS.
func (s *Service) Drain() { s.waiting.close() }

// Draining is closed once Drain has been called.
func (s *Service) Draining() <-chan struct{} { return s.waiting.closed }

// request is what the service prepares before a store sees it.
type request interface {
	// resolve refuses what is out of bounds and fills in the policy's defaults.
	resolve(p *Policy) error
}

// prepare applies the namespace's policy to a request.
func (s *Service) prepare(q request, namespace string) error {
	p, err := s.policies.Load().For(namespace)
	if err != nil {
		if invalid := CheckNamespace(namespace); invalid != nil {
			return invalid
		}
		return err
	}
	return q.resolve(p)
}

// CheckAndClaim answers whether the event is handled, being handled, or the
// caller's. With Wait it asks again until the holder has finished or the wait is
// over.
func (s *Service) CheckAndClaim(ctx context.Context, q *CheckAndClaimRequest) (ClaimVerdict, error) {
	namespace := q.Namespace
	v, err := s.checkAndClaim(ctx, q)
	s.count("CheckAndClaim", namespace, truth(v.Outcome, v.Shadow), err)
	return v, err
}

func (s *Service) checkAndClaim(ctx context.Context, q *CheckAndClaimRequest) (ClaimVerdict, error) {
	if err := s.prepare(q, q.Namespace); err != nil {
		return ClaimVerdict{}, err
	}
	if q.RequestID == "" {
		q.RequestID = rand.Text() // before the first send: a resend must find its own claim
	}
	if q.Policy.Shadow {
		return s.shadowClaim(ctx, q)
	}
	v, err := s.store.CheckAndClaim(ctx, q)
	if err != nil || v.Outcome != StillInProgress || q.Wait.Value <= 0 {
		return v, err
	}
	return s.wait(ctx, q, v)
}

// Complete records that the effect happened, or failed for good.
func (s *Service) Complete(ctx context.Context, q *CompleteRequest) (Settlement, error) {
	namespace := q.Namespace
	v, err := s.complete(ctx, q)
	s.count("Complete", namespace, v.Outcome, err)
	return v, err
}

func (s *Service) complete(ctx context.Context, q *CompleteRequest) (Settlement, error) {
	if err := s.prepare(q, q.Namespace); err != nil {
		return Settlement{}, err
	}
	if q.Policy.Shadow {
		q.Namespace = shadowed(q.Namespace)
		return shadowSettle(s.store.Complete(ctx, q))
	}
	v, err := s.store.Complete(ctx, q)
	if err != nil || v.Outcome == OK {
		s.waiting.wake(q.ClaimID) // an error may hide that it was done
	}
	return v, err
}

// Release gives a claim back without its effect.
func (s *Service) Release(ctx context.Context, q *ReleaseRequest) (Settlement, error) {
	namespace := q.Namespace
	v, err := s.release(ctx, q)
	s.count("Release", namespace, v.Outcome, err)
	return v, err
}

func (s *Service) release(ctx context.Context, q *ReleaseRequest) (Settlement, error) {
	if err := s.prepare(q, q.Namespace); err != nil {
		return Settlement{}, err
	}
	if q.Policy.Shadow {
		q.Namespace = shadowed(q.Namespace)
		return shadowSettle(s.store.Release(ctx, q))
	}
	v, err := s.store.Release(ctx, q)
	if err != nil || v.Outcome == OK {
		s.waiting.wake(q.ClaimID) // an error may hide that it was done
	}
	return v, err
}

// ExtendLease keeps a claim held.
func (s *Service) ExtendLease(ctx context.Context, q *ExtendLeaseRequest) (Settlement, error) {
	namespace := q.Namespace
	v, err := s.extendLease(ctx, q)
	s.count("ExtendLease", namespace, v.Outcome, err)
	return v, err
}

func (s *Service) extendLease(ctx context.Context, q *ExtendLeaseRequest) (Settlement, error) {
	if err := s.prepare(q, q.Namespace); err != nil {
		return Settlement{}, err
	}
	if q.Policy.Shadow {
		q.Namespace = shadowed(q.Namespace)
		return shadowSettle(s.store.ExtendLease(ctx, q))
	}
	return s.store.ExtendLease(ctx, q)
}

// GetClaim reads a claim. It decides nothing.
func (s *Service) GetClaim(ctx context.Context, q *GetClaimRequest) (Claim, error) {
	if err := s.prepare(q, q.Namespace); err != nil {
		return Claim{}, err
	}
	return s.store.GetClaim(ctx, q)
}

// ApplyIfNewer answers whether an event is newer than what was applied, and
// moves the watermark to it if it is.
func (s *Service) ApplyIfNewer(ctx context.Context, q *ApplyIfNewerRequest) (ApplyVerdict, error) {
	namespace := q.Namespace
	v, err := s.applyIfNewer(ctx, q)
	s.count("ApplyIfNewer", namespace, truth(v.Outcome, v.Shadow), err)
	return v, err
}

func (s *Service) applyIfNewer(ctx context.Context, q *ApplyIfNewerRequest) (ApplyVerdict, error) {
	if err := s.prepare(q, q.Namespace); err != nil {
		return ApplyVerdict{}, err
	}
	if q.RequestID == "" {
		q.RequestID = rand.Text()
	}
	if q.Policy.Shadow {
		return s.shadowApply(ctx, q)
	}
	return s.store.ApplyIfNewer(ctx, q)
}

// GetEntity reads an entity. It decides nothing.
func (s *Service) GetEntity(ctx context.Context, q *GetEntityRequest) (Entity, error) {
	if err := s.prepare(q, q.Namespace); err != nil {
		return Entity{}, err
	}
	return s.store.GetEntity(ctx, q)
}

// ForgetClaim removes a claim.
func (s *Service) ForgetClaim(ctx context.Context, q *ForgetClaimRequest) (Claim, error) {
	if err := s.prepare(q, q.Namespace); err != nil {
		return Claim{}, err
	}
	defer s.waiting.wake(q.ClaimID)
	return s.store.ForgetClaim(ctx, q)
}

// ResolveClaim records what an operator found out about a claim.
func (s *Service) ResolveClaim(ctx context.Context, q *ResolveClaimRequest) (Claim, error) {
	if err := s.prepare(q, q.Namespace); err != nil {
		return Claim{}, err
	}
	defer s.waiting.wake(q.ClaimID)
	return s.store.ResolveClaim(ctx, q)
}

// ReconcileEntity sets an entity to what the source of truth says.
func (s *Service) ReconcileEntity(ctx context.Context, q *ReconcileEntityRequest) (ApplyOutcome, Entity, error) {
	if err := s.prepare(q, q.Namespace); err != nil {
		return 0, Entity{}, err
	}
	return s.store.ReconcileEntity(ctx, q)
}

// ForgetEntity removes what is remembered of an entity.
func (s *Service) ForgetEntity(ctx context.Context, q *ForgetEntityRequest) (Entity, error) {
	if err := s.prepare(q, q.Namespace); err != nil {
		return Entity{}, err
	}
	return s.store.ForgetEntity(ctx, q)
}

// ListClaims lists claims in progress, expired or parked.
func (s *Service) ListClaims(ctx context.Context, q *ListClaimsRequest) (ClaimsPage, error) {
	if err := s.prepare(q, q.Namespace); err != nil {
		return ClaimsPage{}, err
	}
	return s.store.ListClaims(ctx, q)
}

// ListEntities lists entities that need reconciling.
func (s *Service) ListEntities(ctx context.Context, q *ListEntitiesRequest) (EntitiesPage, error) {
	if err := s.prepare(q, q.Namespace); err != nil {
		return EntitiesPage{}, err
	}
	return s.store.ListEntities(ctx, q)
}

// ListDecisions reads the decision log, newest first.
func (s *Service) ListDecisions(ctx context.Context, q *ListDecisionsRequest) (DecisionsPage, error) {
	if err := s.prepare(q, q.Namespace); err != nil {
		return DecisionsPage{}, err
	}
	return s.store.ListDecisions(ctx, q)
}

// Overview counts what waits in a namespace, or in all.
func (s *Service) Overview(ctx context.Context, namespace string) (*Overview, error) {
	if namespace != "" {
		if err := CheckNamespace(namespace); err != nil {
			return nil, err
		}
		if _, err := s.policies.Load().For(namespace); err != nil {
			return nil, err
		}
	}
	return s.store.Overview(ctx, namespace)
}
