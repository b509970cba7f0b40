package onceward

import "time"

// State is what a claim is in.
type State uint8

// The states. A record is never stored as Absent or Expired: the first is no
// record, the second is InProgress with its lease over. Forgotten is the
// tombstone that ForgetClaim leaves; callers see Absent.
const (
	Absent State = iota
	InProgress
	Released
	Completed
	Failed
	Parked
	Expired
	Forgotten
)

// Record is what a store keeps of one claim. The zero Record is an absent one.
type Record struct {
	State   State
	Token   int64 // the fencing token of the last holder
	Attempt int32
	Base    int32 // attempts before an operator let it start afresh; they do not count
	Died    int32 // the last attempt whose lease ran out; 0: none. Later ones must look whether it acted

	Final         bool // completed by a final claim
	EffectStarted bool // sticks through take-overs until completed or resolved
	Unsettled     bool // parked because attempts ran out while the last holder had not settled
	PriorStarted  bool // the attempt Died had started the effect

	RequestID     string // of the holder, or of a final claim; "" once completed otherwise
	Owner         string
	PreviousOwner string // of the attempt Died
	Fingerprint   string
	Reason        string // of the last release or park

	FirstClaimedAt time.Time
	CompletedAt    time.Time
	HeldUntil      time.Time // the end of the lease, or of a release's retry_after
	ExpiresAt      time.Time // when the record itself goes

	Result *Result // nil where none was stored

	Event Event // of an ordered claim in progress: what its completion moves the entity to
}

// Slot is what a decision about a claim looks at: its record and, where claims
// are ordered, its entity.
type Slot struct {
	Claim  Record
	Entity Entity
}

// Result is what a completion stores for replay.
type Result struct {
	Type  string
	Body  []byte
	Until time.Time // its own retention
}

// StateAt is the state as callers see it.
func (r *Record) StateAt(now time.Time) State {
	switch {
	case r.State == InProgress && !r.held(now):
		return Expired
	case r.State == Forgotten:
		return Absent
	}
	return r.State
}

func (r *Record) absent() bool            { return r.State == Absent || r.State == Forgotten }
func (r *Record) settled() bool           { return r.State == Completed || r.State == Failed }
func (r *Record) held(now time.Time) bool { return r.HeldUntil.After(now) }

// retention is how long the record outlives its lease.
func (r *Record) retention() time.Duration { return r.ExpiresAt.Sub(r.HeldUntil) }

// hold gives the record a new end: held for d from now, remembered for
// retention after that.
func (r *Record) hold(now time.Time, d, retention time.Duration) {
	r.HeldUntil = now.Add(d)
	r.ExpiresAt = r.HeldUntil.Add(retention)
}

// nextToken is larger than every earlier token of the key. The clock is there
// for the tokens that were lost with their record.
func nextToken(last int64, now time.Time) int64 { return max(last+1, now.UnixMicro()) }

// resultAt is the stored result, or that it has run out.
func (r *Record) resultAt(now time.Time) (res Result, expired bool) {
	switch {
	case r.Result == nil:
		return Result{}, false
	case !r.Result.Until.After(now):
		return Result{}, true
	}
	return *r.Result, false
}
