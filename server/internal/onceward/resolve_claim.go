package onceward

import (
	"errors"
	"time"
)

// Resolution is what an operator found out about a claim nobody works on.
type Resolution uint8

// The resolutions.
const (
	Done    Resolution = iota + 1 // the effect did happen
	NotDone                       // it did not: the next claim may go ahead
)

// ResolveClaimRequest records what an operator found out.
type ResolveClaimRequest struct {
	ClaimID
	Act
	Resolution Resolution
	Result     []byte

	Policy *Policy
}

func (q *ResolveClaimRequest) resolve(p *Policy) error {
	var c checks
	q.ClaimID.check(&c)
	q.Act.check(&c)
	if q.Resolution != Done && q.Resolution != NotDone {
		c.fail("resolution", "is required: DONE or NOT_DONE")
	}
	c.maxBytes("result", len(q.Result), p.MaxResultBytes)
	if q.Resolution == NotDone && len(q.Result) > 0 {
		c.fail("result", "is only for DONE")
	}
	q.Policy = p
	if err := c.err(); err != nil {
		return err
	}
	return p.checkRouting("entity", false, q.Entity)
}

// DecideResolveClaim gives the claim as it is afterwards and what follows. The
// old holder's token ends either way.
func DecideResolveClaim(s Slot, q *ResolveClaimRequest, now time.Time) (Claim, Slot, error) {
	r := &s.Claim
	switch {
	case r.absent():
		return Claim{}, s, ClaimNotFound()
	case r.State == InProgress && r.held(now):
		return Claim{}, s, ClaimHeld()
	case r.State == Completed && q.Resolution == Done:
		return r.View(q.ClaimID, now), s, nil // an operator's repeat is harmless
	case r.settled():
		return Claim{}, s, ClaimSettled()
	}
	retention := r.retention()
	s.settle(q.ClaimID, q.Resolution == Done, q.Policy, now)
	r.Token = nextToken(r.Token, now)
	if q.Resolution == NotDone {
		r.State, r.Base, r.EffectStarted, r.Unsettled = Released, r.Attempt, false, false
		r.RequestID, r.Reason = "", q.Reason
		r.Died, r.PreviousOwner, r.PriorStarted = 0, "", false // the operator has looked
		r.hold(now, 0, retention)
		return r.View(q.ClaimID, now), s, nil
	}
	r.complete(Completed, now, retention)
	if len(q.Result) > 0 {
		r.Result = &Result{Body: q.Result, Until: now.Add(min(q.Policy.ResultRetention, retention))}
	}
	return r.View(q.ClaimID, now), s, nil
}

// ClaimNotFound refuses to resolve nothing.
func ClaimNotFound() error {
	return &Error{Reason: ReasonClaimNotFound, Message: "there is no such claim"}
}

// ClaimHeld refuses to resolve what somebody is working on.
func ClaimHeld() error {
	return &Error{Reason: ReasonClaimHeld, Message: "the claim's lease is running: somebody works on it"}
}

// ClaimSettled refuses to resolve what is finished.
func ClaimSettled() error {
	return &Error{Reason: ReasonClaimSettled, Message: "the claim is finished; to have its event processed again, forget it"}
}

// LogOutcome is how the call stands in the decision log.
func (q *ResolveClaimRequest) LogOutcome(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return string(e.Reason)
	}
	return q.Resolution.String()
}
