// Package client asks an Onceward service before a side effect and tells it
// afterwards.
//
// Most programs need one call, [Client.Once]. It claims the event, runs a
// function that makes the effect, keeps the claim's lease alive meanwhile and
// records the result. Whoever comes later with the same event gets that result
// back instead of a second effect.
//
//	result, err := c.Once(ctx, client.ClaimRequest{
//		Namespace: "stripe-live",
//		Consumer:  "ledger",
//		Key:       event.ID, // of the event, never of the delivery
//	}, func(ctx context.Context, claim *client.Claim) (client.Result, error) {
//		return credit(ctx, event)
//	})
//
// What a receiver of webhooks or queue messages owes its sender after Once:
//
//	nil                   acknowledge; result.Replayed tells a repeat
//	*FailedError          acknowledge: the event was dealt with and cannot succeed
//	*InProgressError      do not acknowledge: the holder may still die
//	*OutOfOrderError      depends on its Outcome: see there
//	ErrParked             acknowledge only if operators look at parked claims
//	*NeedsReconcileError  do not acknowledge: look the effect up, then resolve
//	ErrConflict           one key, two payloads: a bug or a forgery, alert
//	ErrLeaseLost          do not acknowledge: another attempt has the event
//	*UnrecordedError      do not acknowledge; the effect has happened
//	anything else         do not acknowledge: nothing is known
//
// An error is never a permission to go ahead and never means "duplicate".
//
// A lease cannot stop a process: between a check and the effect there is always
// a moment in which the process may be halted for longer than its lease. Effects
// that must not overlap should carry [Claim.FencingToken], and an attempt that is
// told of a [Claim.Takeover] must look whether the effect is there already.
//
// # Order
//
// In a namespace with routing: entity, Once takes an [Order] too: the events of
// one entity are worked on one at a time, none after a newer one, and the
// watermark moves when the work is recorded. For effects that are safe to repeat
// [Client.Apply] is enough. What the verdicts of both oblige to is said at
// [ApplyOutcome].
//
// Ties, holes and forbidden transitions flag an entity, and only the source of
// truth can tell what is right: run package reconcile, say every hour.
//
// The methods named after the service's calls ([Client.CheckAndClaim],
// [Client.Complete], [Client.Release], [Client.ExtendLease], [Client.GetClaim],
// [Client.GetEntity]) are for programs that cannot put their work into one
// function; [Client.ListEntities] and [Client.ReconcileEntity] are calls for
// operators. [Client.WithStream] returns a client that makes the same calls over
// one stream, for programs with many of them at once.
package client
