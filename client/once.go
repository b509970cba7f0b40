package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// DefaultLease is the lease that [Client.Once] asks for where the request
	// names none. Once has to know a lease's length to renew it in time, and a
	// namespace's default is not told in an answer.
	DefaultLease = 30 * time.Second

	// maxServerWait is the longest wait that the service accepts.
	maxServerWait = 30 * time.Second
	// maxPoll bounds the pause between two questions while waiting: a holder
	// often finishes long before its lease is over.
	maxPoll = time.Second
)

// Func makes the effect of one event for [Client.Once]. Its context ends with
// the caller's, and with the lease: then context.Cause says [ErrLeaseLost], and
// the function should stop before its next step. What it returns decides:
//
//   - no error: the claim is completed with the result;
//   - an error from [Terminal]: it is completed as failed, with the result;
//   - any other error, or a panic: it is released, and the result ignored. See
//     [ReleaseError] for a say in how.
//
// A function that returns without an error is believed, even if its context has
// ended: its effect has happened.
type Func func(ctx context.Context, claim *Claim) (Result, error)

// Once makes the effect of an event once: it claims the event, runs fn, renews
// the lease at every third of it until fn returns, and records what fn returned.
// If the event was handled before, it returns the stored result (Replayed is
// set) without running fn. fn runs in the caller's goroutine; none is left
// behind when Once returns.
//
// req.Wait is how long to wait for another attempt to finish, at this event or,
// with req.Order, at another one of its entity; without it Once returns an
// [InProgressError], or an [OutOfOrderError] with BUSY, at once. req.RequestID
// and req.Final must be unset.
//
// Once counts the lease from before the request that got or renewed it was sent,
// and ends fn's context a tenth of a lease (at most 3 s) before it could be over
// for the service. Renewals that fail are repeated until then. A completion
// after that is still tried, and succeeds if nobody has taken over.
//
// When ctx ends, fn's context ends; the claim is held until fn returns and is
// then settled all the same, on a context of its own: a completion is sent up to
// five times within half a minute, a release gets 2 s. If fn panics the claim is
// released while the panic passes through.
//
// The errors are those listed in the package comment; fn's own error otherwise,
// wrapped together with [ErrLeaseLost] if the lease was lost under fn; or a gRPC
// status if the claim could not be asked for.
func (c *Client) Once(ctx context.Context, req ClaimRequest, fn Func) (Result, error) {
	if req.RequestID != "" || req.Final {
		return Result{}, errors.New("onceward: Once takes neither a RequestID nor a Final claim")
	}
	req.RequestID = newRequestID()
	if req.Lease == 0 {
		req.Lease = DefaultLease
	}
	answer, sent, err := c.claim(ctx, req)
	if err != nil {
		return Result{}, err
	}
	if answer.Outcome != Claimed {
		return verdict(answer)
	}
	return newClaim(c, req, answer).run(ctx, sent, fn)
}

// claim asks until nobody is in the way, or the wait is over. It also returns
// when the answered request was sent.
func (c *Client) claim(ctx context.Context, req ClaimRequest) (*ClaimResponse, time.Time, error) {
	end := time.Now().Add(req.Wait)
	for {
		req.Wait = min(max(0, time.Until(end)), maxServerWait)
		answer, sent, err := c.ask(ctx, req)
		if err != nil || !passes(answer) || time.Until(end) <= 0 {
			return answer, sent, err
		}
		pause := jitter(min(max(answer.RetryAfter, 20*time.Millisecond), maxPoll))
		if err := sleep(ctx, min(pause, time.Until(end))); err != nil {
			return nil, sent, err
		}
	}
}

// passes reports whether what stands in the way is an attempt at work.
func passes(answer *ClaimResponse) bool {
	return answer.Outcome == InProgress ||
		answer.Outcome == OutOfOrder && answer.OrderOutcome == Busy
}

// ask repeats an unanswered claim once, with the same request id: gRPC does so
// neither after a part of the reply has arrived nor after a deadline, and then
// the claim would stand without anybody knowing its token.
func (c *Client) ask(ctx context.Context, req ClaimRequest) (*ClaimResponse, time.Time, error) {
	sent := time.Now()
	answer, err := c.CheckAndClaim(ctx, req)
	if !unanswered(err) {
		return answer, sent, err
	}
	if sleep(ctx, jitter(100*time.Millisecond)) != nil {
		return nil, sent, err
	}
	sent = time.Now()
	answer, err = c.CheckAndClaim(ctx, req)
	return answer, sent, err
}

func unanswered(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}

// verdict is what Once returns where there is nothing to run.
func verdict(answer *ClaimResponse) (Result, error) {
	switch answer.Outcome {
	case Duplicate:
		return answer.Result, nil
	case Failed:
		return answer.Result, &FailedError{Result: answer.Result}
	case InProgress:
		return Result{}, &InProgressError{RetryAfter: answer.RetryAfter}
	case Conflict:
		return Result{}, ErrConflict
	case Parked:
		return Result{}, ErrParked
	case NeedsReconcile:
		return Result{}, &NeedsReconcileError{Takeover: answer.Takeover}
	case OutOfOrder:
		return Result{}, &OutOfOrderError{Outcome: answer.OrderOutcome, RetryAfter: answer.RetryAfter, Entity: answer.Entity}
	}
	return Result{}, fmt.Errorf("%w: claim outcome %d", ErrUnknownOutcome, answer.Outcome)
}
