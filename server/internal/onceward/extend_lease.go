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
	return c.err()
}

// DecideExtendLease gives the answer and the record that follows it. A lease
// that is over is extended if nobody came in between; nothing is ever created
// or won back.
func DecideExtendLease(r Record, q *ExtendLeaseRequest, now time.Time) (Settlement, Record) {
	if r.State != InProgress || r.Token != q.Token {
		return r.lost(q.Token, now), r
	}
	r.EffectStarted = r.EffectStarted || q.EffectStarted
	r.hold(now, q.Lease.Value, r.retention())
	return Settlement{Outcome: OK, State: r.State, LeaseExpiresAt: r.HeldUntil}, r
}
