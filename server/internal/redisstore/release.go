package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed release.lua
var releaseLua string

var release = newClaimScript("release", settlementLua, releaseLua)

// Release implements onceward.Store.
func (s *Store) Release(ctx context.Context, q *onceward.ReleaseRequest) (onceward.Settlement, error) {
	k := s.keys.claim(q.ClaimID)
	c := call{script: release.plain, keys: []string{k.record, k.progress, k.parked, k.log}}
	if k.entity != nil {
		c.script, c.keys = release.ordered, append(c.keys, k.entity.hold)
	}
	p := newPacker()
	p.text8(k.name)
	p.token(q.Token)
	p.text16(q.Reason)
	p.millis(q.RetryAfter.Value)
	p.bool(q.Park)
	p.subject(q.Policy, q.ClaimID)
	p.audit(q.Policy)
	c.args = []any{p.bytes}
	r, err := s.run(ctx, c, q.Policy.MinReplicas)
	if err != nil {
		return onceward.Settlement{}, err
	}
	v := onceward.Settlement{Outcome: r.settleOutcome(), State: r.state()}
	return v, r.end()
}
