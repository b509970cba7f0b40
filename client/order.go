package client

import oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"

// Order places a claim among the events of one entity. Only in namespaces with
// routing: entity, and required there.
type Order struct {
	// Entity is the thing whose state events change, 1 to 1024 bytes of UTF-8.
	Entity string
	// Version is compared with the last one completed: see [Sequence],
	// [Timestamp] and [Decimal]. Nil: not compared, and the watermark does not
	// move; work on the entity is serial all the same.
	Version *Version
	// State is what the event leads to, up to 128 bytes, for namespaces with
	// transitions. Empty: not judged.
	State string
}

func (o *Order) proto() *oncewardv1.Order {
	if o == nil {
		return nil
	}
	return &oncewardv1.Order{Entity: o.Entity, Version: o.Version, State: o.State}
}

// ApplyOutcome is the order's verdict on an event.
type ApplyOutcome = oncewardv1.ApplyOutcome

// The verdicts of [Client.Apply], and, all but Applied, the reasons of an
// [OutOfOrderError]. Only Applied permits the effect. What is said here about
// acknowledging goes for both.
const (
	// Applied: newer than everything before it, and the watermark has moved to
	// it. Make the effect, then acknowledge.
	Applied = oncewardv1.ApplyOutcome_APPLY_OUTCOME_APPLIED
	// AlreadyApplied (DUPLICATE on the wire): this very event moved the
	// watermark before. Acknowledge, do nothing.
	AlreadyApplied = oncewardv1.ApplyOutcome_APPLY_OUTCOME_DUPLICATE
	// Stale: something newer was applied. Acknowledge; do not let this event
	// overwrite it. See FillsGap where every event matters by itself.
	Stale = oncewardv1.ApplyOutcome_APPLY_OUTCOME_STALE
	// Gap: events before this one are missing, in a namespace with gap: hold.
	// Not applied: do not act, do not acknowledge. Come again once they have
	// arrived or the entity has been reconciled; the entity is flagged until
	// then.
	Gap = oncewardv1.ApplyOutcome_APPLY_OUTCOME_GAP
	// Tie: another event of the same version was applied, and nobody but the
	// source knows which came last. Not applied: do not act. The entity is
	// flagged, so acknowledge if flagged entities are reconciled (package
	// reconcile does it); otherwise ask the source now and call
	// [Client.ReconcileEntity]. A repeat of the event is a tie again, unless the
	// reconciliation named it as the last one.
	Tie = oncewardv1.ApplyOutcome_APPLY_OUTCOME_TIE
	// Busy: another event of the entity is being worked on. Do not act, do not
	// acknowledge; come again after RetryAfter.
	Busy = oncewardv1.ApplyOutcome_APPLY_OUTCOME_BUSY
	// TransitionDenied: the namespace does not allow this state after the one
	// that the entity is in: an event between the two is late or was never sent.
	// Not applied: do not act. The entity is flagged; acknowledge as with Tie.
	TransitionDenied = oncewardv1.ApplyOutcome_APPLY_OUTCOME_TRANSITION_DENIED
	// Future: the version's timestamp lies too far ahead of the store's clock.
	// Nothing is remembered. Do not act, do not acknowledge: come again later,
	// and raise an alarm, since some clock is wrong.
	Future = oncewardv1.ApplyOutcome_APPLY_OUTCOME_FUTURE
)
