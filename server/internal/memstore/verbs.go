package memstore

import (
	"context"
	"time"

	"github.com/onceward/onceward/server/internal/onceward"
)

var _ onceward.Store = (*Store)(nil)

// CheckAndClaim implements onceward.Store.
func (s *Store) CheckAndClaim(ctx context.Context, q *onceward.CheckAndClaimRequest) (v onceward.ClaimVerdict, err error) {
	err = s.decide(ctx, q.ClaimID, func(r onceward.Record, now time.Time) (next onceward.Record, _ error) {
		v, next = onceward.DecideCheckAndClaim(r, q, now)
		return next, nil
	})
	return v, err
}

// Complete implements onceward.Store.
func (s *Store) Complete(ctx context.Context, q *onceward.CompleteRequest) (v onceward.Settlement, err error) {
	err = s.decide(ctx, q.ClaimID, func(r onceward.Record, now time.Time) (next onceward.Record, err error) {
		v, next, err = onceward.DecideComplete(r, q, now)
		return next, err
	})
	return v, err
}

// Release implements onceward.Store.
func (s *Store) Release(ctx context.Context, q *onceward.ReleaseRequest) (v onceward.Settlement, err error) {
	err = s.decide(ctx, q.ClaimID, func(r onceward.Record, now time.Time) (next onceward.Record, err error) {
		v, next, err = onceward.DecideRelease(r, q, now)
		return next, err
	})
	return v, err
}

// ExtendLease implements onceward.Store.
func (s *Store) ExtendLease(ctx context.Context, q *onceward.ExtendLeaseRequest) (v onceward.Settlement, err error) {
	err = s.decide(ctx, q.ClaimID, func(r onceward.Record, now time.Time) (next onceward.Record, _ error) {
		v, next = onceward.DecideExtendLease(r, q, now)
		return next, nil
	})
	return v, err
}

// GetClaim implements onceward.Store.
func (s *Store) GetClaim(ctx context.Context, q *onceward.GetClaimRequest) (c onceward.Claim, err error) {
	err = s.decide(ctx, q.ClaimID, func(r onceward.Record, now time.Time) (onceward.Record, error) {
		c = r.View(q.ClaimID, now)
		return r, nil
	})
	return c, err
}
