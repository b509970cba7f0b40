package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed resolve_claim.lua
var resolveClaimLua string

var resolveClaim = newClaimScript("resolve_claim", claimReplyLua, resolveClaimLua)

// ResolveClaim implements onceward.Store.
func (s *Store) ResolveClaim(ctx context.Context, q *onceward.ResolveClaimRequest) (onceward.Claim, error) {
	k := s.keys.claim(q.ClaimID)
	c := k.call(resolveClaim)
	p := newPacker()
	p.text8(k.name)
	p.byte(int(q.Resolution))
	p.text32(string(q.Result))
	p.millis(q.Policy.ResultRetention)
	p.subject(q.Policy, q.ClaimID)
	p.text8(q.Actor)
	p.text16(q.Act.Reason)
	c.args = k.order([]any{p.bytes}, &q.Policy.Ordering)
	return s.claimNow(ctx, q.ClaimID, c, q.Policy.MinReplicas)
}
