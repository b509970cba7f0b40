package client

import (
	"context"
	"sync/atomic"
	"time"
)

// Claim is what a function run by [Client.Once] knows about its attempt. It is
// of use until the function returns.
type Claim struct {
	// Key is the event's key, also where it was derived from KeyParts. It is a
	// good idempotency key for the effect itself: it is the same for every
	// attempt.
	Key string
	// FencingToken is larger than that of every earlier attempt at the key.
	// What the effect touches should remember the largest it has seen and
	// refuse smaller ones. Zero if Degraded.
	FencingToken int64
	// Attempt is 1 for the first. Above 1 without a Takeover every earlier
	// attempt has returned an error. If such an error always means that the
	// effect did not happen there is nothing to look for; if it may come after
	// the effect, as a timeout of a remote call does, look as with Takeover, or
	// call [Claim.EffectStarted] before the effect.
	Attempt int
	// Takeover is set if any earlier attempt died, in the sense that its lease
	// ran out. It may have made the effect: look before making it again. Nil
	// otherwise.
	Takeover *Takeover
	// FirstClaimedAt is when the first attempt claimed the key, by the
	// service's clock.
	FirstClaimedAt time.Time
	// Entity is where the event's entity stands before this event, in a
	// namespace with routing: entity: the version and the state that the event
	// is to replace. Nil otherwise, and while nothing is known of the entity its
	// fields are empty.
	Entity *EntityState
	// Degraded is not empty if the claim was granted without the store's
	// protection, as the namespace allows: no lease is kept, another attempt
	// may run at the same time.
	Degraded string

	client        *Client
	ref           Ref
	lease         time.Duration
	held          bool // false: granted without a lease to keep
	keeper        *keeper
	effectStarted atomic.Bool
}

func newClaim(c *Client, req ClaimRequest, answer *ClaimResponse) *Claim {
	claim := &Claim{
		Key:            answer.Key,
		FencingToken:   answer.FencingToken,
		Attempt:        answer.Attempt,
		Takeover:       answer.Takeover,
		FirstClaimedAt: answer.FirstClaimedAt,
		Entity:         answer.Entity,
		Degraded:       answer.Degraded,
		client:         c,
		ref:            req.Ref(),
		lease:          req.Lease,
		held:           answer.FencingToken != 0,
	}
	claim.effectStarted.Store(answer.Takeover != nil && answer.Takeover.EffectStarted)
	return claim
}

// EffectStarted tells the service that from here on the effect may have
// happened, and renews the lease. Call it right before an effect that cannot be
// looked up or repeated: if this process dies, the next attempt learns of it
// ([Takeover]), or waits for a reconciliation where the namespace says so.
//
// It cannot be taken back: if the function then returns an error, the claim is
// parked for an operator instead of released, since what may have happened must
// not be repeated blindly.
//
// Do not start the effect after an error. [ErrLeaseLost] says that the claim is
// gone; any other error that the service did not answer in time.
func (c *Claim) EffectStarted(ctx context.Context) error {
	if !c.held {
		return nil
	}
	if err := c.keeper.extend(ctx, true); err != nil {
		return err
	}
	c.effectStarted.Store(true)
	return nil
}

// run runs fn under the lease which was granted to a request sent at since.
func (c *Claim) run(ctx context.Context, since time.Time, fn Func) (Result, error) {
	if !c.held {
		return c.settle(ctx, fn)
	}
	since, err := c.freshen(ctx, since)
	if err != nil {
		return Result{}, c.release(ctx, err)
	}
	held, keeper := keep(ctx, c.client, c.extension(), since)
	defer keeper.stop()
	c.keeper = keeper
	return c.settle(held, fn)
}

// freshen renews a lease whose request took so long (it waited for a holder, or
// was repeated) that a renewal is due before the work has begun. It returns when
// the granted request was sent.
func (c *Claim) freshen(ctx context.Context, since time.Time) (time.Time, error) {
	if elapsed(since) < renewAfter(c.lease) {
		return since, nil
	}
	sent := time.Now()
	resp, err := c.client.ExtendLease(ctx, c.extension())
	if err == nil && resp.Outcome != Settled {
		err = ErrLeaseLost
	}
	return sent, err
}

func (c *Claim) extension() ExtendLeaseRequest {
	return ExtendLeaseRequest{Ref: c.ref, FencingToken: c.FencingToken, Lease: c.lease}
}
