package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed forget_claim.lua
var forgetClaimLua string

var forgetClaim = newClaimScript("forget_claim", claimReplyLua, forgetClaimLua)

// ForgetClaim implements onceward.Store.
func (s *Store) ForgetClaim(ctx context.Context, q *onceward.ForgetClaimRequest) (onceward.Claim, error) {
	k := s.keys.claim(q.ClaimID)
	c := call{script: forgetClaim.plain, keys: []string{k.record, k.result, k.progress, k.parked, k.log}}
	if k.entity != nil {
		c.script, c.keys = forgetClaim.ordered, append(c.keys, k.entity.hold)
	}
	p := newPacker()
	p.text8(k.name)
	p.subject(q.Policy, q.ClaimID)
	p.text8(q.Actor)
	p.text16(q.Act.Reason)
	c.args = []any{p.bytes}
	return s.claimNow(ctx, q.ClaimID, c, q.Policy.MinReplicas)
}
