package onceward

import "time"

// ForgetClaimRequest removes a claim, so that its event is handled as if it had
// never come.
type ForgetClaimRequest struct {
	ClaimID
	Act

	Policy *Policy
}

func (q *ForgetClaimRequest) resolve(p *Policy) error {
	var c checks
	q.ClaimID.check(&c)
	q.Act.check(&c)
	q.Policy = p
	if err := c.err(); err != nil {
		return err
	}
	return p.checkRouting("entity", false, q.Entity)
}

// DecideForgetClaim gives the claim as it was and what follows it: a tombstone
// that keeps the fencing token for as long as the record would have lived.
func DecideForgetClaim(s Slot, q *ForgetClaimRequest, now time.Time) (Claim, Slot) {
	was := s.Claim.View(q.ClaimID, now)
	if s.Claim.absent() {
		return was, s
	}
	s.settle(q.ClaimID, false, q.Policy, now)
	s.Claim = Record{State: Forgotten, Token: s.Claim.Token, HeldUntil: s.Claim.HeldUntil, ExpiresAt: s.Claim.ExpiresAt}
	return was, s
}
