package onceward

import "time"

// EntityID names an entity: the scope in which a sender counts.
type EntityID struct {
	Namespace string
	Consumer  string
	Entity    string
}

// Record gives the place of the entity's record. The ordered claims of the
// entity live in the same partition.
func (id EntityID) Record() RecordID {
	return place(hashParts("entity", id.Namespace, id.Consumer, id.Entity))
}

func (id EntityID) check(c *checks) {
	c.namespace(id.Namespace)
	c.name("consumer", id.Consumer)
	c.text("entity", id.Entity)
}

// EntityOf is the entity of an ordered claim.
func (id ClaimID) EntityOf() EntityID { return EntityID{id.Namespace, id.Consumer, id.Entity} }

// FlagReason is why an entity needs reconciling.
type FlagReason uint8

// The reasons, each with the bit that says it is still open.
const (
	FlagGap FlagReason = 1 << iota
	FlagTie
	FlagTransition
)

func (f FlagReason) String() string {
	switch f {
	case FlagGap:
		return "gap"
	case FlagTie:
		return "tie"
	case FlagTransition:
		return "transition"
	}
	return ""
}

// Entity is what a store keeps of one entity. The zero Entity is an unknown one.
type Entity struct {
	Applied   bool    // something has been applied
	Version   Version // the watermark, or with Held the epoch and kind of what is held back
	Held      bool    // no version has been applied; events are held back
	EventID   string
	State     string
	AppliedAt time.Time
	RequestID string // of the call that was applied
	FirstSeen bool   // and it found no version

	Missing   []Range // rising
	Truncated bool    // more than maxRanges were missing

	Open      FlagReason // the bits of all reasons still open
	Reason    FlagReason // the first of them
	FlaggedAt time.Time

	ExpiresAt time.Time // zero: never

	// The claim in progress that works on the entity: others are BUSY until its
	// lease is over.
	Holder    string // name of the claim's record
	HeldUntil time.Time
}

// Event is what a call says about one event of an entity.
type Event struct {
	Version Version // zero: the event has none
	ID      string
	State   string
}

// Known tells whether anything is remembered besides a claim in progress.
func (e Entity) Known() bool { return e.Applied || e.Open != 0 }

// MissingCount is how many versions are missing.
func (e Entity) MissingCount() uint64 { return count(e.Missing) }

// watermark tells whether there is a version to compare with.
func (e *Entity) watermark() bool { return !e.Version.IsZero() && !e.Held }

// Watermark is the newest version applied; none where there is none.
func (e *Entity) Watermark() Version {
	if e.Held {
		return Version{}
	}
	return e.Version
}

// blocked is how long another claim still holds the entity.
func (e *Entity) blocked(holder string, now time.Time) time.Duration {
	if e.Holder == holder {
		return 0
	}
	return max(0, e.HeldUntil.Sub(now))
}

// reserve gives the entity to a claim until its lease is over.
func (e *Entity) reserve(holder string, until time.Time) { e.Holder, e.HeldUntil = holder, until }

// free ends a claim's hold on the entity.
func (e *Entity) free(holder string) {
	if e.Holder == holder {
		e.Holder, e.HeldUntil = "", time.Time{}
	}
}

// flag marks the entity for reconciling. The first reason and its time stay.
func (e *Entity) flag(why FlagReason, now time.Time) {
	if e.Open == 0 {
		e.Reason, e.FlaggedAt = why, now
	}
	e.Open |= why
}

// unflag closes a reason. The flag goes with the last one.
func (e *Entity) unflag(why FlagReason) {
	e.Open &^= why
	if e.Open == 0 {
		e.FlaggedAt = time.Time{}
	}
	if e.Open&e.Reason == 0 {
		e.Reason = e.Open & -e.Open
	}
}

// setMissing stores what is missing and keeps the gap's flag with it. A
// truncated list never becomes whole by itself.
func (e *Entity) setMissing(list []Range, now time.Time) {
	if len(list) > maxRanges {
		list, e.Truncated = list[:maxRanges], true
	}
	e.Missing = list
	if len(list) > 0 || e.Truncated {
		e.flag(FlagGap, now)
	} else {
		e.unflag(FlagGap)
	}
}

// keep starts the retention anew.
func (e *Entity) keep(now time.Time, retention time.Duration) {
	e.ExpiresAt = time.Time{}
	if retention > 0 {
		e.ExpiresAt = now.Add(retention)
	}
}

// keepLonger is keep for a call that applied nothing: it never takes away from
// the life that the entity had before it.
func (e *Entity) keepLonger(before *Entity, now time.Time, retention time.Duration) {
	e.keep(now, retention)
	longer := before.ExpiresAt.IsZero() || !e.ExpiresAt.IsZero() && before.ExpiresAt.After(e.ExpiresAt)
	if before.Known() && longer {
		e.ExpiresAt = before.ExpiresAt
	}
}
