package memstore

import (
	"context"
	"time"

	"github.com/onceward/onceward/server/internal/onceward"
)

var _ onceward.Store = (*Store)(nil)

// CheckAndClaim implements onceward.Store.
func (s *Store) CheckAndClaim(ctx context.Context, q *onceward.CheckAndClaimRequest) (v onceward.ClaimVerdict, err error) {
	err = s.decide(ctx, q.ClaimID, q.Policy, func(sh *shard, slot onceward.Slot, now time.Time) (next onceward.Slot, err error) {
		if v, next, err = onceward.DecideCheckAndClaim(slot, q, now); err == nil {
			sh.write(q.Log(&v, &next.Claim, now))
		}
		return next, err
	})
	return v, err
}

// Complete implements onceward.Store.
func (s *Store) Complete(ctx context.Context, q *onceward.CompleteRequest) (v onceward.Settlement, err error) {
	err = s.decide(ctx, q.ClaimID, q.Policy, func(sh *shard, slot onceward.Slot, now time.Time) (next onceward.Slot, err error) {
		if v, next, err = onceward.DecideComplete(slot, q, now); err == nil {
			sh.write(v.Log("Complete", q.Policy, q.ClaimID, &next.Claim, "", now))
		}
		return next, err
	})
	return v, err
}

// Release implements onceward.Store.
func (s *Store) Release(ctx context.Context, q *onceward.ReleaseRequest) (v onceward.Settlement, err error) {
	err = s.decide(ctx, q.ClaimID, q.Policy, func(sh *shard, slot onceward.Slot, now time.Time) (next onceward.Slot, err error) {
		if v, next, err = onceward.DecideRelease(slot, q, now); err == nil {
			sh.write(v.Log("Release", q.Policy, q.ClaimID, &next.Claim, q.Reason, now))
		}
		return next, err
	})
	return v, err
}

// ExtendLease implements onceward.Store.
func (s *Store) ExtendLease(ctx context.Context, q *onceward.ExtendLeaseRequest) (v onceward.Settlement, err error) {
	err = s.decide(ctx, q.ClaimID, q.Policy, func(sh *shard, slot onceward.Slot, now time.Time) (next onceward.Slot, _ error) {
		v, next = onceward.DecideExtendLease(slot, q, now)
		sh.write(v.Log("ExtendLease", q.Policy, q.ClaimID, &next.Claim, "", now))
		return next, nil
	})
	return v, err
}

// GetClaim implements onceward.Store.
func (s *Store) GetClaim(ctx context.Context, q *onceward.GetClaimRequest) (c onceward.Claim, err error) {
	err = s.decide(ctx, q.ClaimID, q.Policy, func(_ *shard, slot onceward.Slot, now time.Time) (onceward.Slot, error) {
		c = slot.Claim.View(q.ClaimID, now)
		return slot, nil
	})
	return c, err
}

// ApplyIfNewer implements onceward.Store.
func (s *Store) ApplyIfNewer(ctx context.Context, q *onceward.ApplyIfNewerRequest) (v onceward.ApplyVerdict, err error) {
	err = s.decideEntity(ctx, q.EntityID, q.Policy, func(sh *shard, e onceward.Entity, now time.Time) (next onceward.Entity, err error) {
		if v, next, err = onceward.DecideApplyIfNewer(e, q, now); err == nil {
			sh.write(q.Log(&v, now))
		}
		return next, err
	})
	return v, err
}

// GetEntity implements onceward.Store.
func (s *Store) GetEntity(ctx context.Context, q *onceward.GetEntityRequest) (is onceward.Entity, err error) {
	err = s.decideEntity(ctx, q.EntityID, q.Policy, func(_ *shard, e onceward.Entity, _ time.Time) (onceward.Entity, error) {
		is = e
		return e, nil
	})
	return is, err
}

// ForgetClaim implements onceward.Store.
func (s *Store) ForgetClaim(ctx context.Context, q *onceward.ForgetClaimRequest) (was onceward.Claim, err error) {
	err = s.decide(ctx, q.ClaimID, q.Policy, func(sh *shard, slot onceward.Slot, now time.Time) (next onceward.Slot, _ error) {
		was, next = onceward.DecideForgetClaim(slot, q, now)
		sh.write(q.Act.Log("ForgetClaim", found(was.State != onceward.Absent), q.Policy, q.ClaimID, was.Attempt, now), true)
		return next, nil
	})
	return was, err
}

// ResolveClaim implements onceward.Store.
func (s *Store) ResolveClaim(ctx context.Context, q *onceward.ResolveClaimRequest) (c onceward.Claim, err error) {
	err = s.decide(ctx, q.ClaimID, q.Policy, func(sh *shard, slot onceward.Slot, now time.Time) (next onceward.Slot, err error) {
		c, next, err = onceward.DecideResolveClaim(slot, q, now)
		sh.write(q.Act.Log("ResolveClaim", q.LogOutcome(err), q.Policy, q.ClaimID, slot.Claim.Attempt, now), true)
		return next, err
	})
	return c, err
}

// ReconcileEntity implements onceward.Store.
func (s *Store) ReconcileEntity(ctx context.Context, q *onceward.ReconcileEntityRequest) (o onceward.ApplyOutcome, is onceward.Entity, err error) {
	err = s.decideEntity(ctx, q.EntityID, q.Policy, func(sh *shard, e onceward.Entity, now time.Time) (next onceward.Entity, err error) {
		if o, next, err = onceward.DecideReconcileEntity(e, q, now); err == nil {
			sh.write(q.Act.LogEntity("ReconcileEntity", o.String(), q.Policy, q.EntityID, q.Event, now), true)
		}
		is = next
		return next, err
	})
	return o, is, err
}

// ForgetEntity implements onceward.Store.
func (s *Store) ForgetEntity(ctx context.Context, q *onceward.ForgetEntityRequest) (was onceward.Entity, err error) {
	err = s.decideEntity(ctx, q.EntityID, q.Policy, func(sh *shard, e onceward.Entity, now time.Time) (onceward.Entity, error) {
		was = e
		ev := onceward.Event{Version: e.Version, ID: e.EventID}
		sh.write(q.Act.LogEntity("ForgetEntity", found(e.Known()), q.Policy, q.EntityID, ev, now), true)
		return onceward.DecideForgetEntity(e), nil
	})
	return was, err
}

// found is the outcome of forgetting something, or nothing.
func found(there bool) string {
	if there {
		return "OK"
	}
	return "ABSENT"
}
