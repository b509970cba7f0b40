package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed resolve_claim.lua
var resolveClaimLua string

var resolveClaim = newScript("resolve_claim", claimWidth, resolveClaimLua, decisionLogLua, claimRecordLua, entityRecordLua)

// ResolveClaim implements onceward.Store.
func (s *Store) ResolveClaim(ctx context.Context, q *onceward.ResolveClaimRequest) (onceward.Claim, error) {
	k := s.keys.claim(q.ClaimID)
	keys := []string{k.record, k.result, k.progress, k.parked, k.log}
	args := []any{k.name, int(q.Resolution), q.Result, onceward.Millis(q.Policy.ResultRetention)}
	args = append(append(args, subject(q.Policy, q.ClaimID)...), q.Actor, q.Act.Reason)
	if e := k.entity; e != nil {
		keys = append(keys, e.record, e.hold, e.flagged)
		args = append(append(args, rules(&q.Policy.Ordering, "")...), onceward.Millis(q.Policy.Ordering.Retention), e.name)
	}
	r, err := s.write(ctx, q.Policy, resolveClaim, keys, args...)
	if err != nil {
		return onceward.Claim{}, err
	}
	c := r.claim()
	c.ClaimID = q.ClaimID
	return c, r.err
}
