package redisstore

import (
	"context"
	"crypto/sha256"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

var (
	//go:embed check_and_claim.lua
	checkAndClaimLua string

	//go:embed check_and_claim_known.lua
	checkAndClaimKnownLua string

	checkAndClaim = claimScript{
		plain:   newScript("check_and_claim", checkAndClaimLua, decisionLogLua, claimRecordLua, checkAndClaimKnownLua),
		ordered: newScript("check_and_claim", checkAndClaimLua, decisionLogLua, claimRecordLua, entityRecordLua, checkAndClaimKnownLua),
	}
)

// CheckAndClaim implements onceward.Store.
func (s *Store) CheckAndClaim(ctx context.Context, q *onceward.CheckAndClaimRequest) (onceward.ClaimVerdict, error) {
	k := s.keys.claim(q.ClaimID)
	c := k.call(checkAndClaim)
	p := newPacker()
	p.text8(k.name)
	p.text8(requestHash(q.RequestID))
	p.millis(q.Lease.Value)
	p.millis(q.Retention.Value)
	p.text8(q.Fingerprint)
	p.text8(q.Owner)
	p.uint32(q.Policy.MaxAttempts)
	p.bool(q.Policy.OnStartedTakeover == onceward.TakeoverReconcile)
	p.bool(q.Final)
	p.subject(q.Policy, q.ClaimID)
	p.audit(q.Policy)
	p.bool(q.Again)
	c.args = p.bytes
	if e := k.entity; e != nil {
		p := newPacker()
		p.text8(q.Event.Version.Encode())
		p.text16(q.Event.ID)
		p.text8(q.Event.State)
		p.millis(q.Policy.Ordering.Retention)
		p.text8(e.name)
		p.rules(&q.Policy.Ordering, q.Event.State)
		c.order = p.bytes
	}
	if !q.Policy.Logs(true) {
		c.share, c.answersAll = k.record+q.Fingerprint, duplicateForAll
	}
	r, err := s.write(ctx, q.Policy, c)
	if err != nil {
		return onceward.ClaimVerdict{}, err
	}
	v, err := r.claimVerdict()
	if k.entity == nil || v.Outcome != onceward.Claimed && v.Outcome != onceward.OutOfOrder {
		v.Entity = nil
	}
	return v, err
}

// duplicateForAll tells whether a reply says of a finished claim what anyone
// would be told who asks at the same time. The holder of a final claim would not:
// it gets the claim again.
func duplicateForAll(reply string) bool {
	return len(reply) > 1 && reply[0] == byte(onceward.Duplicate) && reply[1] == 0
}

func (r *reply) claimVerdict() (onceward.ClaimVerdict, error) {
	v := onceward.ClaimVerdict{
		Outcome: onceward.ClaimOutcome(r.enum(int64(onceward.Claimed), int64(onceward.OutOfOrder))),
	}
	r.bool() // of a final claim
	v.Token, v.Attempt, v.Reentrant = r.int(7), int32(r.int(3)), r.bool()
	died := onceward.Takeover{PreviousAttempt: int32(r.int(3)), PreviousOwner: r.text(1), EffectStarted: r.bool()}
	now, hold := r.unixMicros(), r.signedMillis()
	v.RetainedUntil = now.Add(r.millis())
	v.FirstClaimedAt = r.unixMillis()
	v.CompletedAt = r.unixMillis()
	stored := onceward.State(r.enum(int64(onceward.Absent), int64(onceward.Forgotten)))
	v.ResultExpired = r.enum(0, 2) == 2
	v.Result = r.result()
	order, busy := onceward.ApplyOutcome(r.enum(0, int64(onceward.Future))), r.millis()
	entity := r.entity().Entity
	if err := r.end(); err != nil {
		return onceward.ClaimVerdict{}, err
	}
	if v.Outcome == onceward.OutOfOrder { // it says nothing of the claim
		return onceward.ClaimVerdict{Outcome: v.Outcome, Entity: &entity, RetryAfter: busy, Order: order}, nil
	}
	held := v.Outcome == onceward.StillInProgress || v.Outcome == onceward.Claimed
	if held && stored == onceward.InProgress {
		v.LeaseExpiresAt = now.Add(hold)
	}
	if v.Outcome == onceward.StillInProgress {
		v.RetryAfter = hold
	}
	if died.PreviousAttempt > 0 {
		v.Takeover = &died
	}
	v.Entity = &entity
	return v, nil
}

// result reads the type and the bytes of a stored result.
func (r *reply) result() onceward.Result {
	res := onceward.Result{Type: r.text(1)}
	if body := r.text(4); body != "" {
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
