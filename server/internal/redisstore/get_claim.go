package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed get_claim.lua
var getClaimLua string

var getClaim = newScript("get_claim", claimRecordLua, claimReplyLua, getClaimLua)

// GetClaim implements onceward.Store.
func (s *Store) GetClaim(ctx context.Context, q *onceward.GetClaimRequest) (onceward.Claim, error) {
	k := s.keys.claim(q.ClaimID)
	return s.claimNow(ctx, q.ClaimID, call{script: getClaim, keys: []string{k.record, k.result}}, 0)
}

// claimNow runs a script that replies with a claim, which is the one called id.
func (s *Store) claimNow(ctx context.Context, id onceward.ClaimID, c call, replicas int) (onceward.Claim, error) {
	r, err := s.run(ctx, c, replicas)
	if err != nil {
		return onceward.Claim{}, err
	}
	claim := r.claim()
	claim.ClaimID = id
	return claim, r.end()
}

// claim reads a claim as claim_reply packs it, with the names that its record
// keeps.
func (r *reply) claim() onceward.Claim {
	c := onceward.Claim{
		State:          r.state(),
		Attempt:        int32(r.int(3)),
		Owner:          r.text(1),
		EffectStarted:  r.bool(),
		Token:          r.int(7),
		FirstClaimedAt: r.unixMillis(),
	}
	now := r.unixMicros()
	leaseEnd := now.Add(r.signedMillis())
	c.CompletedAt = r.unixMillis()
	end := now.Add(r.millis())
	c.Reason, c.Fingerprint = r.text(2), r.text(1)
	r.enum(0, 2) // whether the result has run out
	c.Result = r.result()
	c.ClaimID = onceward.ClaimID{Namespace: r.text(1), Consumer: r.text(1), Entity: r.text(2), Key: r.text(2)}
	if c.State == onceward.InProgress || c.State == onceward.Expired {
		c.LeaseExpiresAt = leaseEnd
	}
	if c.State != onceward.Absent {
		c.RetainedUntil = end
	}
	return c
}
