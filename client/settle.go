package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/status"
)

const (
	completeTries  = 5
	releaseTimeout = 2 * time.Second
	maxReason      = 1 << 10

	// reasonEffectStarted is the service's reason for refusing a release.
	reasonEffectStarted = "EFFECT_STARTED"
)

// settle runs fn and tells the service how it ended.
func (c *Claim) settle(ctx context.Context, fn Func) (Result, error) {
	returned := false
	defer func() {
		if !returned { // a panic or runtime.Goexit, on its way out
			c.release(ctx, &ReleaseError{Err: errors.New("panic"), Reason: "panic"})
		}
	}()
	result, err := fn(ctx, c)
	returned = true

	result = Result{Data: result.Data, Type: result.Type}
	var terminal *terminalError
	switch {
	case err == nil:
		return c.complete(ctx, result)
	case errors.As(err, &terminal):
		return c.fail(ctx, result, err)
	default:
		return Result{}, c.release(ctx, err)
	}
}

func (c *Claim) complete(ctx context.Context, result Result) (Result, error) {
	entity, err := c.record(ctx, result, false)
	if err != nil {
		return Result{}, err
	}
	result.Entity = entity
	return result, nil
}

func (c *Claim) fail(ctx context.Context, result Result, cause error) (Result, error) {
	entity, err := c.record(ctx, result, true)
	if err != nil {
		return Result{}, err
	}
	result.Entity = entity
	return result, &FailedError{Result: result, Err: cause}
}

// record completes the claim and turns every answer but success into the error
// that Once returns.
func (c *Claim) record(ctx context.Context, result Result, failed bool) (*EntityState, error) {
	if !c.held && c.Degraded == "" { // shadow mode let it pass: the claim is somebody else's
		return nil, nil
	}
	ctx = context.WithoutCancel(ctx)
	resp, err := c.insist(ctx, CompleteRequest{
		Ref:          c.ref,
		FencingToken: c.FencingToken,
		Result:       result,
		Failed:       failed,
	})
	switch {
	case err != nil && transient(err):
		return nil, &UnrecordedError{Result: result, Err: err}
	case err != nil:
		reason := "completion refused: " + status.Code(err).String()
		c.release(ctx, &ReleaseError{Err: err, Reason: reason, Park: true})
		return nil, &UnrecordedError{Result: result, Err: err}
	case resp.Outcome == Lost:
		return nil, ErrLeaseLost
	case resp.Outcome == AlreadySettled && (resp.State == StateReleased || resp.State == StateParked):
		return nil, &UnrecordedError{Result: result, Err: fmt.Errorf("onceward: already settled as %v", resp.State)}
	}
	return resp.Entity, nil
}

// insist repeats a completion until it is answered. A repeat after a lost reply
// is answered with AlreadySettled.
func (c *Claim) insist(ctx context.Context, req CompleteRequest) (resp *CompleteResponse, err error) {
	pause := 100 * time.Millisecond
	for try := 1; ; try++ {
		resp, err = c.client.Complete(ctx, req)
		if err == nil || !transient(err) || try == completeTries {
			return resp, err
		}
		sleep(ctx, jitter(pause))
		pause *= 2
	}
}

// release gives the claim back after cause and returns what Once returns: the
// cause, together with ErrLeaseLost if the lease was lost. Nothing else that
// goes wrong here matters, since the lease runs out by itself.
func (c *Claim) release(ctx context.Context, cause error) error {
	if !c.held {
		return cause
	}
	if c.keeper != nil && !c.keeper.held() {
		cause = lostWith(cause)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	resp, err := c.client.Release(ctx, c.releaseRequest(cause, false))
	if Reason(err) == reasonEffectStarted {
		resp, err = c.client.Release(ctx, c.releaseRequest(cause, true))
	}
	if err == nil && resp.Outcome == Lost {
		cause = lostWith(cause)
	}
	return cause
}

func lostWith(cause error) error {
	if errors.Is(cause, ErrLeaseLost) {
		return cause
	}
	return fmt.Errorf("%w: %w", ErrLeaseLost, cause)
}

func (c *Claim) releaseRequest(cause error, park bool) ReleaseRequest {
	req := ReleaseRequest{Ref: c.ref, FencingToken: c.FencingToken, Park: park || c.effectStarted.Load()}
	var say *ReleaseError
	if errors.As(cause, &say) {
		req.Reason, req.RetryAfter = say.Reason, say.RetryAfter
		req.Park = req.Park || say.Park
	}
	if req.Park {
		req.RetryAfter = 0
	}
	if req.Reason == "" {
		req.Reason = classify(cause)
	}
	req.Reason = truncate(req.Reason, maxReason)
	return req
}

// classify says what kind of error it is, without its text.
func classify(err error) string {
	switch {
	case errors.Is(err, ErrLeaseLost):
		return "lease lost"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	if s, ok := status.FromError(err); ok {
		return "grpc " + s.Code().String()
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return fmt.Sprintf("error (%T)", err)
}

// truncate cuts at a character, and drops what is not UTF-8.
func truncate(s string, limit int) string {
	s = strings.ToValidUTF8(s, "")
	if len(s) <= limit {
		return s
	}
	for !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
