package client

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// keeper holds the lease of one claim for as long as the claim's function runs.
//
// It trusts no clock but this process's own. The lease's end is counted from
// before the request that got or renewed it was sent, so that it never lies
// after the service's, and a margin before that end the lease counts as lost:
// the function is told before anybody else can be given the claim.
type keeper struct {
	client *Client
	renew  ExtendLeaseRequest
	lose   context.CancelCauseFunc // cancels the function's context

	stopRenewing context.CancelFunc
	renewing     sync.WaitGroup
	watchdog     *time.Timer

	mu    sync.Mutex
	since time.Time // when the last request that was granted was sent
	lost  bool
}

// keep starts to hold a lease which was granted to a request sent at since. The
// context it returns ends with ctx, with the lease, or with stop.
func keep(ctx context.Context, c *Client, renew ExtendLeaseRequest, since time.Time) (context.Context, *keeper) {
	held, lose := context.WithCancelCause(ctx)
	renewing, stopRenewing := context.WithCancel(context.WithoutCancel(ctx))
	k := &keeper{client: c, renew: renew, lose: lose, stopRenewing: stopRenewing, since: since}
	k.watchdog = time.AfterFunc(k.left(), func() { k.held() })
	k.renewing.Go(func() { k.run(renewing) })
	return leaseContext{held, k}, k
}

// stop ends the renewals and waits for the last one to return.
func (k *keeper) stop() {
	k.stopRenewing()
	k.renewing.Wait()
	k.watchdog.Stop()
	k.lose(nil)
}

// run renews the lease at a third of it, and asks again soon where it gets no
// answer, until stopped or until the lease is lost.
func (k *keeper) run(ctx context.Context) {
	pause := k.untilRenewal()
	for sleep(ctx, pause) == nil && k.held() {
		if k.extend(ctx, false) == nil {
			pause = k.untilRenewal()
		} else {
			pause = jitter(min(k.renew.Lease/20, time.Second))
		}
	}
}

// extend asks for another lease, once. It returns ErrLeaseLost if the lease is
// lost, then or before; any other error leaves the lease as it was.
func (k *keeper) extend(ctx context.Context, effectStarted bool) error {
	if !k.held() {
		return ErrLeaseLost
	}
	ctx, cancel := context.WithTimeout(ctx, min(k.renew.Lease/3, callTimeout))
	defer cancel()
	req := k.renew
	req.EffectStarted = effectStarted
	sent := time.Now()
	resp, err := k.client.ExtendLease(ctx, req)
	if err != nil {
		return err
	}
	return k.extended(resp.Outcome, sent)
}

// extended takes in the answer to a renewal sent at the given time.
func (k *keeper) extended(outcome SettleOutcome, sent time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if outcome != Settled {
		k.loseLocked()
	}
	if k.lost {
		return ErrLeaseLost
	}
	if sent.After(k.since) {
		k.since = sent
	}
	k.watchdog.Reset(k.left())
	return nil
}

// held looks at the clock and reports whether the lease is still held.
func (k *keeper) held() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left() <= 0 {
		k.loseLocked()
	}
	return !k.lost
}

func (k *keeper) loseLocked() {
	k.lost = true
	k.lose(ErrLeaseLost)
}

// left is how long the lease may still be believed in.
func (k *keeper) left() time.Duration {
	margin := min(k.renew.Lease/10, 3*time.Second)
	return k.renew.Lease - margin - elapsed(k.since)
}

func (k *keeper) untilRenewal() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return renewAfter(k.renew.Lease) - elapsed(k.since)
}

func renewAfter(lease time.Duration) time.Duration { return lease / 3 }

// elapsed is the time since then by whichever clock says more: the monotonic
// one stands still while the machine is suspended, the wall clock can be set
// back.
func elapsed(then time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(then), now.Round(0).Sub(then.Round(0)))
}

// leaseContext is the function's context. Whoever asks it for its state makes
// it look at the clock first: in a process that was halted for longer than its
// lease, the function must not see a live context merely because the scheduler
// woke it before the watchdog.
type leaseContext struct {
	context.Context
	keeper *keeper
}

func (c leaseContext) Done() <-chan struct{} {
	c.keeper.held()
	return c.Context.Done()
}

func (c leaseContext) Err() error {
	c.keeper.held()
	return c.Context.Err()
}

// sleep waits, and returns the context's error if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// jitter is d or up to half of it less, so that many waiters do not come at
// once.
func jitter(d time.Duration) time.Duration {
	return d - rand.N(d/2+1)
}
