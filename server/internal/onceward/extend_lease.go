package onceward

import "time"

// ExtendLeaseRequest keeps a claim held, and may say that the effect starts.
type ExtendLeaseRequest struct {
	ClaimID
	Token         int64
	Lease         Duration // from now; unset: the policy's
	EffectStarted bool     // from here on the effect may have happened

	Policy *Policy
}

func (q *ExtendLeaseRequest) resolve(p *Policy) error {
	var c checks
	q.ClaimID.check(&c)
	checkToken(&c, q.Token, 1)
	c.optional("lease", q.Lease, MinLease, MaxLease)
	q.Policy = p
	q.Lease = Of(roundUp(q.Lease.or(p.Lease)))
	if err := c.err(); err != nil {
		return err
	}
	return p.checkRouting("entity", false, q.Entity)
}

// DecideExtendLease gives the answer and what follows it. A lease that is over is
// extended if nobody came in between, neither to the claim nor to its entity;
// nothing is ever created or won back.
func DecideExtendLease(s Slot, q *ExtendLeaseRequest, now time.Time) (Settlement, Slot) {
	r := &s.Claim
	if r.State != InProgress || r.Token != q.Token {
		return r.lost(q.Token, now), s
	}
	if q.Entity != "" && !r.held(now) && s.Entity.passed(r, q.holder(), now) {
		return Settlement{Outcome: Lost, State: Expired}, s
	}
	r.EffectStarted = r.EffectStarted || q.EffectStarted
	r.hold(now, q.Lease.Value, r.retention())
	if q.Entity != "" {
		s.Entity.reserve(q.holder(), r.HeldUntil)
	}
	return Settlement{Outcome: OK, State: r.State, LeaseExpiresAt: r.HeldUntil}, s
}

// passed tells whether the entity went on without a claim whose lease ran out.
func (e *Entity) passed(r *Record, holder string, now time.Time) bool {
	switch {
	case e.blocked(holder, now) > 0:
		return true
	case r.Event.Version.IsZero():
		return e.wentOn(r.Token)
	}
	return !e.moves(r.Event, r.Token)
}
