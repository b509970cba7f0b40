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
//	*OutOfOrderError      depends on its Outcome; see there
//	ErrParked             acknowledge only if operators look at parked claims
//	*NeedsReconcileError  the same: somebody has to ask the source of truth
//	ErrConflict           one key, two payloads: a bug or a forgery, alert
//	ErrLeaseLost          do not acknowledge: another attempt has the event
//	*UnrecordedError      do not acknowledge; the effect has happened
//	anything else         do not acknowledge: nothing is known
//
// An error is never a permission to go ahead and never means "duplicate".
//
// A lease cannot stop a process: between a check and the effect there is always
// a moment in which the process may be halted for longer than its lease. Effects
// that must not overlap should carry [Claim.FencingToken], and an attempt that
// follows one that died or failed ([Claim.Attempt] above 1) must look whether
// the effect is there already.
//
// The methods named after the service's calls ([Client.CheckAndClaim],
// [Client.Complete], [Client.Release], [Client.ExtendLease], [Client.GetClaim])
// are for programs that cannot put their work into one function.
package client
