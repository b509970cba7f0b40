// Package reconcile asks the source of truth about the entities that Onceward
// has flagged, and tells Onceward what it said.
//
// An entity is flagged when an event arrives that the events before it do not
// explain: it leaves a hole in the sequence (gap), has the version of another
// event (tie), or leads to a state that is not allowed after the current one
// (transition). None of that can be decided by looking at events; the system
// that sends them knows. The flag is the memory that somebody has to ask, so
// that the event itself can be acknowledged.
//
//	report, err := reconcile.Run(ctx, onceward, reconcile.Options{
//		Namespace: "stripe-live",
//		Actor:     "reconciler",
//		Reason:    "hourly",
//	}, func(ctx context.Context, e client.ListedEntity) (reconcile.Truth, error) {
//		charge, err := stripe.Charge(ctx, e.Entity)
//		if err != nil {
//			return reconcile.Truth{}, err
//		}
//		return reconcile.Truth{Version: client.Sequence(charge.Version), State: charge.Status}, store(ctx, charge)
//	})
//
// # How often
//
// Every hour for each namespace is a good start, and once more after an outage of
// the sender, the receiver or Onceward. The list is small by nature; a walk that
// finds nothing costs next to nothing. Run it more often where a flagged
// entity means that something waits: with gap: hold nothing of the entity is
// applied until the hole is filled or reconciled. Holes by late events close by
// themselves, so do not run it more often than late events usually are late, or
// the source is asked in vain. One process is enough; several at once do no harm
// but ask the source several times.
//
// # What it does not see
//
// A last event that never arrives flags nothing: nothing came that does not fit.
// Ask the source also about what has been pending here for too long, and tell
// Onceward with [client.Client.ReconcileEntity].
//
// In a namespace with readable_keys: false the list holds hashes instead of
// names. There is nothing to ask with, and nothing to set: do not run it there.
package reconcile
