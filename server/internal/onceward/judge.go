package onceward

import (
	"slices"
	"time"
)

// ApplyOutcome is the verdict about an event's place in its entity's order.
type ApplyOutcome uint8

// The outcomes, in the contract's order.
const (
	Applied ApplyOutcome = iota + 1
	SameAgain
	Stale
	GapBefore
	Tie
	Busy
	TransitionDenied
	Future
)

// judgement is the order's verdict on an event: Applied means that it may be.
type judgement struct {
	outcome    ApplyOutcome
	fillsGap   bool
	retryAfter time.Duration
}

// judge says whether an event may be applied. It flags the entity and closes
// holes; it never moves the watermark. holder is the claim that asks, "" for
// none. The error is VERSION_KIND_MISMATCH.
func (e *Entity) judge(ev Event, o *Ordering, holder string, now time.Time) (judgement, error) {
	if !e.Version.IsZero() && !ev.Version.IsZero() && e.Version.Kind != ev.Version.Kind {
		return judgement{}, KindMismatch()
	}
	if ev.Version.Kind == Timestamp && ev.Version.Time.After(now.Add(o.MaxFutureSkew)) {
		return judgement{outcome: Future}, nil
	}
	if old, ok := e.old(ev, now); ok {
		return old, nil
	}
	if left := e.blocked(holder, now); left > 0 {
		return judgement{outcome: Busy, retryAfter: left}, nil
	}
	if !o.allows(e.State, ev.State) {
		e.flag(FlagTransition, now)
		return judgement{outcome: TransitionDenied}, nil
	}
	if hole, ok := e.holeBefore(ev.Version, o); ok && o.Gap == GapHold {
		e.holdBack(ev.Version.Epoch, hole, now)
		return judgement{outcome: GapBefore}, nil
	}
	return judgement{outcome: Applied}, nil
}

// old judges an event that is not newer than the watermark.
func (e *Entity) old(ev Event, now time.Time) (judgement, bool) {
	sameEvent := ev.ID != "" && ev.ID == e.EventID
	if ev.Version.IsZero() {
		return judgement{outcome: SameAgain}, e.Applied && sameEvent
	}
	if !e.watermark() {
		return judgement{}, false
	}
	switch c := ev.Version.Compare(e.Version); {
	case c > 0:
		return judgement{}, false
	case c == 0 && (ev.ID == "" || e.EventID == ""), sameEvent:
		return judgement{outcome: SameAgain}, true
	case c == 0:
		e.flag(FlagTie, now)
		return judgement{outcome: Tie}, true
	}
	return judgement{outcome: Stale, fillsGap: e.fill(ev.Version, now)}, true
}

// fill closes the hole that a late version leaves, if it is one.
func (e *Entity) fill(v Version, now time.Time) bool {
	if v.Kind != Sequence || v.Epoch != e.Version.Epoch {
		return false
	}
	rest, found := removeOne(e.Missing, v.Sequence)
	if found {
		e.setMissing(rest, now)
	}
	return found
}

// holdBack remembers what an event that is held back waits for. Without a
// watermark it is known by its epoch alone; of several epochs the lowest comes
// first, and its holes are the ones that are kept.
func (e *Entity) holdBack(epoch uint64, hole Range, now time.Time) {
	switch {
	case e.watermark(), e.Held && epoch == e.Version.Epoch:
	case e.Held && epoch > e.Version.Epoch:
		return
	default:
		e.Version, e.Held, e.Missing = Version{Epoch: epoch, Kind: Sequence}, true, nil
	}
	e.setMissing(addRange(e.Missing, hole), now)
}

// holeBefore is what is missing between the watermark and v. A new epoch starts
// without a hole, and so does an entity that nothing is known of, unless the
// policy names its first sequence.
func (e *Entity) holeBefore(v Version, o *Ordering) (Range, bool) {
	if v.Kind != Sequence || o.Gap == GapIgnore {
		return Range{}, false
	}
	var next uint64 // the sequence that leaves no hole
	switch {
	case e.watermark() && e.Version.Epoch != v.Epoch:
		return Range{}, false
	case e.watermark():
		next = e.Version.Sequence + 1 // v is newer, so this does not overflow where it is used
		if v.Sequence == e.Version.Sequence {
			return Range{}, false
		}
	case e.Held && e.Version.Epoch == v.Epoch && len(e.Missing) > 0:
		next = e.Missing[0].First
	case o.First != nil:
		next = *o.First
	default:
		return Range{}, false
	}
	return Range{next, v.Sequence - 1}, v.Sequence > next
}

// advance applies an event that judge allowed: the only way, besides
// reconciling, that a watermark moves.
func (e *Entity) advance(ev Event, requestID string, o *Ordering, now time.Time) {
	hole, holed := e.holeBefore(ev.Version, o)
	if v := ev.Version; !v.IsZero() {
		if !e.Version.IsZero() && e.Version.Epoch != v.Epoch {
			e.Truncated = false // the holes of another epoch say nothing in this one
			e.setMissing(nil, now)
		}
		if holed {
			e.setMissing(addRange(e.Missing, hole), now)
		}
		e.FirstSeen = !e.watermark()
		e.Version, e.Held = v, false
		e.fill(v, now)
	} else {
		e.FirstSeen = !e.Applied
	}
	if ev.State != "" {
		e.State = ev.State
	}
	if !ev.Version.IsZero() || !e.watermark() {
		e.EventID = ev.ID // the watermark's event, as long as there is one
	}
	e.Applied, e.AppliedAt, e.RequestID = true, now, requestID
}

// KindMismatch refuses to compare what has no order.
func KindMismatch() error {
	return &Error{Reason: ReasonVersionKindMismatch, Message: "the entity has versions of another kind: a sequence, a timestamp and a decimal have no order between them"}
}

// allows tells whether one state may follow another. From no state, and from a
// state to itself, everything that the table names is allowed.
func (o *Ordering) allows(from, to string) bool {
	if to == "" || len(o.Transitions) == 0 {
		return true
	}
	if from == "" || from == to {
		return o.names(to)
	}
	return slices.Contains(o.Transitions[from], to)
}

// Before lists the states that may come before one, "" for none among them.
func (o *Ordering) Before(to string) []string {
	var out []string
	if o.names(to) {
		out = append(out, "", to)
	}
	for from, next := range o.Transitions {
		if from != to && slices.Contains(next, to) {
			out = append(out, from)
		}
	}
	return out
}

func (o *Ordering) names(state string) bool {
	if _, ok := o.Transitions[state]; ok {
		return true
	}
	for _, next := range o.Transitions {
		if slices.Contains(next, state) {
			return true
		}
	}
	return false
}
