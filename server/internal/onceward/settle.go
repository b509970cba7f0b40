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
	if r.Token == token && r.State != Absent && !r.Unsettled {
		s.Outcome = AlreadySettled
	}
	return s
}
