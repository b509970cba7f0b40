package redisstore

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"strconv"
	"strings"
	"time"

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
	fresh, logged := "", q.Policy.Logs(true)
	if k.entity == nil && !q.Final && !logged {
		fresh = strconv.FormatInt(onceward.Millis(q.Lease.Value+q.Retention.Value), 10)
	}
	p := newPacker()
	p.millis(q.Lease.Value)
	p.millis(q.Retention.Value)
	p.uint32(q.Policy.MaxAttempts)
	p.bool(q.Policy.OnStartedTakeover == onceward.TakeoverReconcile)
	p.bool(q.Final)
	p.audit(q.Policy)
	p.bool(q.Again)
	c.args = []any{k.name, fresh, recordEnd(q), p.bytes}
	if e := k.entity; e != nil {
		p := newPacker()
		p.text8(q.Event.Version.Encode())
		p.text16(q.Event.ID)
		p.text8(q.Event.State)
		p.millis(q.Policy.Ordering.Retention)
		p.text8(e.name)
		p.rules(&q.Policy.Ordering, q.Event.State)
		c.args = append(c.args, p.bytes)
	}
	if !logged {
		c.share, c.answersAll = k.record+q.Fingerprint, duplicateForAll
	}
	r, err := s.run(ctx, c, q.Policy.MinReplicas)
	if err != nil {
		return onceward.ClaimVerdict{}, err
	}
	if strings.HasPrefix(r.left, freshReply) {
		return r.freshClaim(q)
	}
	v, err := r.claimVerdict()
	if k.entity == nil || v.Outcome != onceward.Claimed && v.Outcome != onceward.OutOfOrder {
		v.Entity = nil
	}
	return v, err
}

// recordEnd is a fresh claim's record from the owner on; see constants.lua.
func recordEnd(q *onceward.CheckAndClaimRequest) []byte {
	p := newPacker()
	p.text8(q.Owner)
	p.text8(q.Fingerprint)
	p.text8(requestHash(q.RequestID))
	p.low(3, 0) // nobody's lease ran out
	p.millis(q.Retention.Value)
	p.low(3, 0) // all attempts count
	p.text8("") // previous owner
	p.text8(q.Namespace)
	p.text8(q.Consumer)
	p.text16("") // reason
	p.text16(q.Policy.Readable(q.Entity))
	p.text16(q.Policy.Readable(q.Key))
	p.text8("")  // version,
	p.text8("")  // state
	p.text16("") // and id of an ordered claim's event
	return p.bytes
}

// freshReply starts the short reply for a claim that nobody had before: what else
// there is to tell, the request says.
const freshReply = "\x00"

func (r *reply) freshClaim(q *onceward.CheckAndClaimRequest) (onceward.ClaimVerdict, error) {
	r.take(len(freshReply))
	token := r.int(7)
	now := time.UnixMicro(token)
	lease := now.Add(q.Lease.Value)
	return onceward.ClaimVerdict{
		Outcome:        onceward.Claimed,
		Token:          token,
		Attempt:        1,
		LeaseExpiresAt: lease,
		RetainedUntil:  lease.Add(q.Retention.Value),
		FirstClaimedAt: now.Truncate(time.Millisecond),
	}, r.end()
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
