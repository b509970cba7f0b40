package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed get_claim.lua
var getClaimLua string

const claimWidth = 19

var getClaim = newScript("get_claim", claimWidth, getClaimLua, decisionLogLua, claimRecordLua)

// GetClaim implements onceward.Store.
func (s *Store) GetClaim(ctx context.Context, q *onceward.GetClaimRequest) (onceward.Claim, error) {
	k := s.keys.claim(q.ClaimID)
	r, err := s.run(ctx, getClaim, []string{k.record, k.result})
	if err != nil {
		return onceward.Claim{}, err
	}
	c := r.claim()
	c.ClaimID = q.ClaimID
	return c, r.err
}

// claim reads a claim as get_claim replies it, with the names that its record
// keeps.
func (r *reply) claim() onceward.Claim {
	c := onceward.Claim{
		ClaimID:        onceward.ClaimID{Namespace: r.str(15), Consumer: r.str(16), Entity: r.str(17), Key: r.str(18)},
		State:          r.state(0),
		Attempt:        int32(r.int(1)),
		Owner:          r.str(2),
		EffectStarted:  r.bool(3),
		Token:          r.int(4),
		FirstClaimedAt: r.unixMillis(5),
		CompletedAt:    r.unixMillis(8),
		Reason:         r.str(10),
		Fingerprint:    r.str(11),
		Result:         r.result(13),
	}
	now := r.unixMicros(6)
	if c.State == onceward.InProgress || c.State == onceward.Expired {
		c.LeaseExpiresAt = now.Add(r.millis(7))
	}
	if c.State != onceward.Absent {
		c.RetainedUntil = now.Add(r.millis(9))
	}
	return c
}
