package onceward

import "time"

// ReleaseRequest gives a claim back without its effect.
type ReleaseRequest struct {
	ClaimID
	Token      int64
	Reason     string   // shown to operators
	RetryAfter Duration // hold the key back this long; unset: not at all
	Park       bool     // do not retry: wait for an operator

	Policy *Policy
}

func (q *ReleaseRequest) resolve(p *Policy) error {
	var c checks
	q.ClaimID.check(&c)
	checkToken(&c, q.Token, 1)
	c.maxBytes("reason", len(q.Reason), MaxReasonBytes)
	c.optional("retry_after", q.RetryAfter, time.Nanosecond, MaxRetryAfter)
	if q.Park && q.RetryAfter.Set {
		c.fail("retry_after", "excludes park: a parked claim waits for an operator")
	}
	q.Policy = p
	q.RetryAfter.Value = roundUp(q.RetryAfter.Value)
	if err := c.err(); err != nil {
		return err
	}
	return p.checkRouting("entity", false, q.Entity)
}

// DecideRelease gives the answer and what follows it.
func DecideRelease(s Slot, q *ReleaseRequest, now time.Time) (Settlement, Slot, error) {
	r := &s.Claim
	if r.State != InProgress || r.Token != q.Token {
		return r.lost(q.Token, now), s, nil
	}
	if r.EffectStarted && !q.Park {
		return Settlement{}, s, EffectStarted()
	}
	s.settle(q.ClaimID, false, q.Policy, now)
	retention := r.retention()
	r.State, r.Reason, r.RequestID = Released, q.Reason, ""
	if q.Park {
		r.State = Parked
	}
	r.hold(now, q.RetryAfter.Value, retention)
	return Settlement{Outcome: OK, State: r.State}, s, nil
}

// EffectStarted refuses to give back what must not be retried blindly.
func EffectStarted() error {
	return &Error{Reason: ReasonEffectStarted, Message: "the effect may have happened: complete the claim, or release it with park"}
}
