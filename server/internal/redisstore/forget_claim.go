package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed forget_claim.lua
var forgetClaimLua string

var forgetClaim = newScript("forget_claim", claimWidth, forgetClaimLua, decisionLogLua, claimRecordLua, entityRecordLua)

// ForgetClaim implements onceward.Store.
func (s *Store) ForgetClaim(ctx context.Context, q *onceward.ForgetClaimRequest) (onceward.Claim, error) {
	k := s.keys.claim(q.ClaimID)
	keys := []string{k.record, k.result, k.progress, k.parked, k.log}
	if k.entity != nil {
		keys = append(keys, k.entity.hold)
	}
	args := append(append([]any{k.name}, subject(q.Policy, q.ClaimID)...), q.Actor, q.Act.Reason)
	r, err := s.write(ctx, q.Policy, forgetClaim, keys, args...)
	if err != nil {
		return onceward.Claim{}, err
	}
	c := r.claim()
	c.ClaimID = q.ClaimID
	return c, r.err
}
