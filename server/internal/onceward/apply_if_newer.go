package onceward

import (
	"strings"
	"time"
)

// ApplyIfNewerRequest asks whether an event is newer than what was applied.
type ApplyIfNewerRequest struct {
	EntityID
	Event
	RequestID string   // the same id gets the same Applied again
	Retention Duration // unset: the policy's, where 0 is for ever

	Policy *Policy
}

// ApplyVerdict is the answer, and where the entity stands now.
type ApplyVerdict struct {
	Outcome    ApplyOutcome
	Current    Entity
	Previous   Version // Applied: what it replaced
	FirstSeen  bool
	Reentrant  bool
	FillsGap   bool
	RetryAfter time.Duration // Busy
	Shadow     ApplyOutcome  // shadow mode: what the outcome would have been
	Degraded   string        // why the answer was given without the store; "": it was not
}

func (q *ApplyIfNewerRequest) resolve(p *Policy) error {
	var c checks
	q.EntityID.check(&c)
	c.maxBytes("request_id", len(q.RequestID), MaxRequestIDBytes)
	q.Event.check(&c)
	c.optional("retention", q.Retention, MinRetention, p.MaxRetention)
	if err := c.err(); err != nil {
		return err
	}
	q.Policy = p
	q.Retention = Of(roundUp(q.Retention.or(p.Ordering.Retention)))
	q.Event.ID = p.Readable(q.Event.ID)
	return q.checkVersion()
}

func (q *ApplyIfNewerRequest) checkVersion() error {
	if q.Version.IsZero() && (q.Event.State == "" || len(q.Policy.Ordering.Transitions) == 0) {
		return Invalid("version", "is required: a sequence, a timestamp or a decimal (only a state in a namespace with transitions needs none)")
	}
	return q.Version.check("version")
}

func (ev *Event) check(c *checks) {
	c.maxBytes("event_id", len(ev.ID), MaxKeyBytes)
	c.state("state", ev.State)
}

func (c *checks) state(field, state string) {
	c.maxBytes(field, len(state), MaxStateBytes)
	if strings.ContainsRune(state, 0) {
		c.fail(field, "has a NUL character")
	}
}

// Readable is s, or where the namespace keeps nothing readable a hash that still
// tells two apart.
func (p *Policy) Readable(s string) string {
	if p.ReadableKeys || s == "" {
		return s
	}
	return hashMark + DeriveKey([]string{s})[:32]
}

// hashMark starts what stands in place of a name.
const hashMark = "sha256:"

// DecideApplyIfNewer gives the verdict and the entity that follows it.
func DecideApplyIfNewer(e Entity, q *ApplyIfNewerRequest, now time.Time) (ApplyVerdict, Entity, error) {
	before := e
	if e.reenters(q) {
		e.keep(now, q.Retention.Value)
		return ApplyVerdict{Outcome: Applied, Reentrant: true, FirstSeen: e.FirstSeen, Current: e}, e, nil
	}
	j, err := e.judge(q.Event, &q.Policy.Ordering, "", now)
	if err != nil {
		return ApplyVerdict{}, before, err
	}
	v := ApplyVerdict{Outcome: j.outcome, FillsGap: j.fillsGap, RetryAfter: j.retryAfter}
	if v.Outcome == Applied {
		if e.watermark() {
			v.Previous = e.Version
		}
		e.advance(q.Event, q.RequestID, &q.Policy.Ordering, now)
		v.FirstSeen = e.FirstSeen
		e.keep(now, q.Retention.Value)
	} else if v.Outcome != Future && v.Outcome != Busy {
		e.keepLonger(&before, now, q.Retention.Value)
	}
	v.Current = e
	return v, e, nil
}

// reenters tells whether this very call has been applied and is still the last
// word.
func (e *Entity) reenters(q *ApplyIfNewerRequest) bool {
	if !e.Applied || e.RequestID != q.RequestID {
		return false
	}
	if q.Version.IsZero() {
		return e.State == q.Event.State
	}
	return e.Version.Kind == q.Version.Kind && e.Version.Compare(q.Version) == 0
}
