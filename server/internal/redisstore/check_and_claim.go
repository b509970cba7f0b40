package redisstore

import (
	"context"
	"crypto/sha256"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed check_and_claim.lua
var checkAndClaimLua string

var checkAndClaim = newScript("check_and_claim", 16, claimRecordLua, checkAndClaimLua)

// CheckAndClaim implements onceward.Store.
func (s *Store) CheckAndClaim(ctx context.Context, q *onceward.CheckAndClaimRequest) (onceward.ClaimVerdict, error) {
	k := s.keys.claim(q.ClaimID)
	r, err := s.write(ctx, q.Policy, checkAndClaim, []string{k.record, k.result, k.progress, k.parked},
		k.name, requestHash(q.RequestID), onceward.Millis(q.Lease.Value), onceward.Millis(q.Retention.Value),
		q.Fingerprint, q.Owner, q.Policy.MaxAttempts, q.Policy.OnStartedTakeover == onceward.TakeoverReconcile, q.Final,
		q.Namespace, q.Consumer, readable(q.Policy, q.Entity), readable(q.Policy, q.Key))
	if err != nil {
		return onceward.ClaimVerdict{}, err
	}
	return r.claimVerdict()
}

func (r *reply) claimVerdict() (onceward.ClaimVerdict, error) {
	now, hold := r.unixMicros(7), r.millis(8)
	v := onceward.ClaimVerdict{
		Outcome:        onceward.ClaimOutcome(r.enum(0, int64(onceward.Claimed), int64(onceward.NeedsReconcile))),
		Token:          r.int(1),
		Attempt:        int32(r.int(2)),
		Reentrant:      r.bool(3),
		RetainedUntil:  now.Add(r.millis(9)),
		FirstClaimedAt: r.unixMillis(10),
		CompletedAt:    r.unixMillis(11),
		ResultExpired:  r.enum(12, 0, 2) == 2,
		Result:         r.result(13),
	}
	held := v.Outcome == onceward.StillInProgress || v.Outcome == onceward.Claimed
	if held && r.state(15) == onceward.InProgress {
		v.LeaseExpiresAt = now.Add(hold)
	}
	if v.Outcome == onceward.StillInProgress {
		v.RetryAfter = hold
	}
	if r.bool(4) {
		v.Takeover = &onceward.Takeover{PreviousAttempt: v.Attempt - 1, PreviousOwner: r.str(5), EffectStarted: r.bool(6)}
	}
	return v, r.err
}

// result reads the type and the bytes of a stored result.
func (r *reply) result(i int) onceward.Result {
	res := onceward.Result{Type: r.str(i)}
	if body := r.str(i + 1); body != "" {
		res.Body = []byte(body)
	}
	return res
}

// requestHash is what a record keeps of a request_id: 96 bits, so that a
// finished final claim stays small.
func requestHash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return string(sum[:12])
}

// readable is what a record keeps for people, where the policy lets it.
func readable(p *onceward.Policy, s string) string {
	if p.ReadableKeys {
		return s
	}
	return ""
}
