package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed extend_lease.lua
var extendLeaseLua string

var extendLease = newScript("extend_lease", 4, claimRecordLua, extendLeaseLua)

// ExtendLease implements onceward.Store.
func (s *Store) ExtendLease(ctx context.Context, q *onceward.ExtendLeaseRequest) (onceward.Settlement, error) {
	k := s.keys.claim(q.ClaimID)
	r, err := s.write(ctx, q.Policy, extendLease, []string{k.record, k.progress},
		k.name, q.Token, onceward.Millis(q.Lease.Value), q.EffectStarted)
	if err != nil {
		return onceward.Settlement{}, err
	}
	v := onceward.Settlement{Outcome: r.settleOutcome(0), State: r.state(1)}
	if v.Outcome == onceward.OK {
		v.LeaseExpiresAt = r.unixMicros(2).Add(r.millis(3))
	}
	return v, r.err
}
