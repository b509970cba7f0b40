package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed extend_lease.lua
var extendLeaseLua string

var extendLease = newScript("extend_lease", 4, extendLeaseLua, decisionLogLua, claimRecordLua, entityRecordLua)

// ExtendLease implements onceward.Store.
func (s *Store) ExtendLease(ctx context.Context, q *onceward.ExtendLeaseRequest) (onceward.Settlement, error) {
	k := s.keys.claim(q.ClaimID)
	keys := []string{k.record, k.progress, k.log}
	if k.entity != nil {
		keys = append(keys, k.entity.record, k.entity.hold)
	}
	args := []any{k.name, q.Token, onceward.Millis(q.Lease.Value), q.EffectStarted}
	args = append(append(args, subject(q.Policy, q.ClaimID)...), string(q.Policy.Audit))
	r, err := s.write(ctx, q.Policy, extendLease, keys, args...)
	if err != nil {
		return onceward.Settlement{}, err
	}
	v := onceward.Settlement{Outcome: r.settleOutcome(0), State: r.state(1)}
	if v.Outcome == onceward.OK {
		v.LeaseExpiresAt = r.unixMicros(2).Add(r.millis(3))
	}
	return v, r.err
}
