package onceward

import "time"

// SettleOutcome is the answer to a call that ends or extends a claim.
type SettleOutcome uint8

// The outcomes, in the contract's order.
const (
	OK SettleOutcome = iota + 1
	AlreadySettled
	Lost
)

// Settlement is the answer to Complete, Release and ExtendLease. Fields are set
// where the call has them.
type Settlement struct {
	Outcome        SettleOutcome
	State          State // what is there now
	Late           bool
	Recreated      bool
	LeaseExpiresAt time.Time
	RetainedUntil  time.Time
	Entity         *Entity // Complete of an ordered claim: where the entity stands now
}

func checkToken(c *checks, token, least int64) {
	if token < least || token > MaxToken {
		c.fail("fencing_token", "must be between %d and %d", least, int64(MaxToken))
	}
}

// lost answers somebody who is not the holder, or the holder of a claim that
// has been settled already.
func (r *Record) lost(token int64, now time.Time) Settlement {
	s := Settlement{Outcome: Lost, State: r.StateAt(now)}
	if r.Token == token && !r.absent() && !r.Unsettled {
		s.Outcome = AlreadySettled
	}
	return s
}

// settle ends an ordered claim's hold on its entity. With applied the entity
// moves to the claim's event, unless it has moved past it.
func (s *Slot) settle(id ClaimID, applied bool, p *Policy, now time.Time) {
	if id.Entity == "" {
		return
	}
	e, ev := &s.Entity, s.Claim.Event
	e.free(id.holder())
	if applied && e.moves(ev, s.Claim.Token) {
		e.advance(ev, "", &p.Ordering, now)
		e.keep(now, p.Ordering.Retention)
	}
}

// moves tells whether a finished event moves the entity: it brings a version
// above the watermark; or it has none, brings a state, and nothing else has moved
// the entity since the claim was given.
func (e *Entity) moves(ev Event, token int64) bool {
	switch {
	case ev.Version.IsZero():
		return ev.State != "" && !e.wentOn(token)
	case e.Version.IsZero():
		return true
	case e.Version.Kind != ev.Version.Kind:
		return false // reconciled to another kind meanwhile
	}
	return !e.watermark() || ev.Version.Compare(e.Version) > 0
}

// wentOn tells whether the entity has moved since a claim was given: a token is
// the microsecond in which it was.
func (e *Entity) wentOn(token int64) bool { return e.AppliedAt.UnixMilli()*1000 > token }
