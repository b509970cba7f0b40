package onceward

import "time"

// ReconcileEntityRequest says what the source of truth says about an entity.
type ReconcileEntityRequest struct {
	EntityID
	Event
	Act
	AllowBackwards bool // also to an older version, or to another kind

	Policy *Policy
}

func (q *ReconcileEntityRequest) resolve(p *Policy) error {
	var c checks
	q.EntityID.check(&c)
	c.refuseHash(p, q.Entity)
	q.Event.check(&c)
	q.Act.check(&c)
	if err := c.err(); err != nil {
		return err
	}
	q.Policy = p
	q.Event.ID = p.Readable(q.Event.ID)
	if q.Version.IsZero() && (q.Event.State == "" || len(p.Ordering.Transitions) == 0) {
		return Invalid("version", "is required: what the source of truth says")
	}
	return q.Version.check("version")
}

// DecideReconcileEntity gives Applied or Stale and the entity that follows. The
// transitions do not bind the source of truth.
func DecideReconcileEntity(e Entity, q *ReconcileEntityRequest, now time.Time) (ApplyOutcome, Entity, error) {
	v, backwards := q.Version, false
	if !v.IsZero() && !e.Version.IsZero() {
		if v.Kind != e.Version.Kind && !q.AllowBackwards {
			return 0, e, KindMismatch()
		}
		backwards = v.Kind != e.Version.Kind || e.watermark() && v.Compare(e.Version) < 0
	}
	if backwards && !q.AllowBackwards {
		return Stale, e, nil
	}
	e.forgive(v, backwards)
	if !v.IsZero() || !e.watermark() {
		e.EventID = q.Event.ID // the watermark's event, as long as there is one
	}
	if !v.IsZero() {
		e.Version, e.Held = v, false
	}
	if q.Event.State != "" {
		e.State = q.Event.State
	}
	e.Applied, e.AppliedAt, e.RequestID, e.FirstSeen = true, now, "", false
	e.keep(now, q.Policy.Ordering.Retention)
	return Applied, e, nil
}

// forgive clears the flag, and the holes up to v. What is still missing between
// v and an event that is held back keeps a gap's flag.
func (e *Entity) forgive(v Version, backwards bool) {
	since := e.FlaggedAt
	switch {
	case v.IsZero():
	case backwards || v.Kind != Sequence || v.Epoch != e.Version.Epoch:
		e.Missing = nil
	default:
		e.Missing = removeUpTo(e.Missing, v.Sequence)
	}
	e.Truncated, e.Open, e.Reason, e.FlaggedAt = false, 0, 0, time.Time{}
	if len(e.Missing) > 0 {
		e.Open, e.Reason, e.FlaggedAt = FlagGap, FlagGap, since
	}
}
