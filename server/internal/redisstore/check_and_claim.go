package redisstore

import (
	"context"
	"crypto/sha256"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed check_and_claim.lua
var checkAndClaimLua string

var checkAndClaim = newScript("check_and_claim", 19, checkAndClaimLua, decisionLogLua, claimRecordLua, entityRecordLua)

// CheckAndClaim implements onceward.Store.
func (s *Store) CheckAndClaim(ctx context.Context, q *onceward.CheckAndClaimRequest) (onceward.ClaimVerdict, error) {
	k := s.keys.claim(q.ClaimID)
	keys := []string{k.record, k.result, k.progress, k.parked, k.log}
	args := []any{
		k.name, requestHash(q.RequestID), onceward.Millis(q.Lease.Value), onceward.Millis(q.Retention.Value),
		q.Fingerprint, q.Owner, q.Policy.MaxAttempts, q.Policy.OnStartedTakeover == onceward.TakeoverReconcile, q.Final,
	}
	args = append(append(args, subject(q.Policy, q.ClaimID)...), string(q.Policy.Audit), q.Again)
	if e := k.entity; e != nil {
		o := &q.Policy.Ordering
		keys = append(keys, e.record, e.hold, e.flagged)
		args = append(args, q.Event.Version.Encode(), q.Event.ID, q.Event.State, onceward.Millis(o.Retention))
		args = append(append(args, rules(o, q.Event.State)...), e.name)
	}
	r, err := s.write(ctx, q.Policy, checkAndClaim, keys, args...)
	if err != nil {
		return onceward.ClaimVerdict{}, err
	}
	v, err := r.claimVerdict()
	if k.entity == nil || v.Outcome != onceward.Claimed && v.Outcome != onceward.OutOfOrder {
		v.Entity = nil
	}
	return v, err
}

func (r *reply) claimVerdict() (onceward.ClaimVerdict, error) {
	now, hold := r.unixMicros(7), r.millis(8)
	v := onceward.ClaimVerdict{
		Outcome:        onceward.ClaimOutcome(r.enum(0, int64(onceward.Claimed), int64(onceward.OutOfOrder))),
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
	if died := r.int(4); died > 0 {
		v.Takeover = &onceward.Takeover{PreviousAttempt: int32(died), PreviousOwner: r.str(5), EffectStarted: r.bool(6)}
	}
	entity := r.entity(18).Entity
	v.Entity = &entity
	if v.Outcome == onceward.OutOfOrder { // it says nothing of the claim
		v = onceward.ClaimVerdict{Outcome: v.Outcome, Entity: v.Entity, RetryAfter: r.millis(17)}
		v.Order = onceward.ApplyOutcome(r.enum(16, int64(onceward.Applied), int64(onceward.Future)))
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

// requestHash is what a claim's record keeps of a request_id: 96 bits, so that a
// finished final claim stays small.
func requestHash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return string(sum[:12])
}
