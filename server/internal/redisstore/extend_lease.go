package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed extend_lease.lua
var extendLeaseLua string

var extendLease = newClaimScript("extend_lease", settlementLua, extendLeaseLua)

// ExtendLease implements onceward.Store.
func (s *Store) ExtendLease(ctx context.Context, q *onceward.ExtendLeaseRequest) (onceward.Settlement, error) {
	k := s.keys.claim(q.ClaimID)
	c := call{script: extendLease.plain, keys: []string{k.record, k.progress, k.log}}
	if k.entity != nil {
		c.script, c.keys = extendLease.ordered, append(c.keys, k.entity.record, k.entity.hold)
	}
	p := newPacker()
	p.text8(k.name)
	p.token(q.Token)
	p.millis(q.Lease.Value)
	p.bool(q.EffectStarted)
	p.subject(q.Policy, q.ClaimID)
	p.audit(q.Policy)
	c.args = []any{p.bytes}
	r, err := s.run(ctx, c, q.Policy.MinReplicas)
	if err != nil {
		return onceward.Settlement{}, err
	}
	v := onceward.Settlement{Outcome: r.settleOutcome(), State: r.state()}
	now, hold := r.unixMicros(), r.millis()
	if v.Outcome == onceward.OK {
		v.LeaseExpiresAt = now.Add(hold)
	}
	return v, r.end()
}
