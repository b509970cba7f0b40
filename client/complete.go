package client

import (
	"context"
	"fmt"
	"time"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// SettleOutcome is the answer to Complete, Release and ExtendLease.
type SettleOutcome = oncewardv1.SettleOutcome

// The answers of [Client.Complete], [Client.Release] and [Client.ExtendLease].
const (
	// Settled: done as asked.
	Settled = oncewardv1.SettleOutcome_SETTLE_OUTCOME_OK
	// AlreadySettled: this very holder had settled the claim before. State says
	// how.
	AlreadySettled = oncewardv1.SettleOutcome_SETTLE_OUTCOME_ALREADY_SETTLED
	// Lost: another holder exists, or has existed since. Nothing was written.
	Lost = oncewardv1.SettleOutcome_SETTLE_OUTCOME_LOST
)

// Result is what a completed claim remembers and replays byte for byte.
type Result struct {
	// Data is up to 64 KiB (a policy can raise it to 1 MiB) of anything.
	Data []byte
	// Type is free text of up to 128 bytes, such as "application/json".
	Type string

	// Replayed: an earlier attempt made this result. Set by Once and by
	// CheckAndClaim, ignored in requests, as are the fields below.
	Replayed bool
	// Expired: the result was remembered for a shorter time than the claim, and
	// is gone. Data is empty.
	Expired bool
	// CompletedAt is when the earlier attempt completed, by the service's
	// clock. Zero unless Replayed.
	CompletedAt time.Time
	// Entity is where the event's entity stands after the completion that
	// [Client.Once] made, in a namespace with routing: entity. Its
	// NeedsReconcile may be set although the event was applied, as after a hole
	// with gap: apply. Nil if Replayed.
	Entity *EntityState
}

// CompleteRequest records that the effect has happened.
type CompleteRequest struct {
	Ref
	// FencingToken is the claim's. Zero only for a claim that was granted
	// Degraded.
	FencingToken int64
	// Result is remembered for whoever comes later.
	Result Result
	// Failed records a terminal failure: that is a result too, and is replayed
	// as one.
	Failed bool
	// Retention counts from completion, 1 s to 10 years. Zero: the claim's.
	Retention time.Duration
	// ResultRetention is how long Result's data are kept, at most Retention.
	// Zero: the namespace's.
	ResultRetention time.Duration
}

// CompleteResponse answers a CompleteRequest.
type CompleteResponse struct {
	Outcome SettleOutcome
	// Late: the lease had run out, but nobody had taken over. That is success.
	Late bool
	// Recreated: the record was gone and has been written again. That is
	// success, but nobody knows who else made the effect in between.
	Recreated bool
	// RetainedUntil is when the claim will be forgotten, by the service's clock.
	RetainedUntil time.Time
	// State is what the record is in now.
	State State
	// Entity is the state of the claim's entity, with routing: entity.
	Entity *EntityState
}

// Complete records the result of the claim's holder. [Settled] and
// [AlreadySettled] are success, unless the latter comes with a State of
// StateReleased or StateParked. [Lost] means that another attempt has the event
// and that nothing was written. After an error, repeat the call with the same
// token: whether it was recorded is unknown until it is answered.
func (c *Client) Complete(ctx context.Context, req CompleteRequest) (*CompleteResponse, error) {
	ctx, cancel := withDeadline(ctx, callTimeout)
	defer cancel()
	resp, err := c.rpc.Complete(ctx, req.proto())
	if err != nil {
		return nil, err
	}
	if err := known(resp.GetOutcome()); err != nil {
		return nil, err
	}
	return &CompleteResponse{
		Outcome:       resp.GetOutcome(),
		Late:          resp.GetLate(),
		Recreated:     resp.GetRecreated(),
		RetainedUntil: goTime(resp.GetRetainedUntil()),
		State:         resp.GetState(),
		Entity:        resp.GetEntity(),
	}, nil
}

func (r CompleteRequest) proto() *oncewardv1.CompleteRequest {
	return &oncewardv1.CompleteRequest{
		Namespace:       r.Namespace,
		Consumer:        r.Consumer,
		Key:             r.Key,
		KeyParts:        r.KeyParts,
		Entity:          r.Entity,
		FencingToken:    r.FencingToken,
		Result:          r.Result.Data,
		ResultType:      r.Result.Type,
		Failed:          r.Failed,
		Retention:       durationProto(r.Retention),
		ResultRetention: durationProto(r.ResultRetention),
	}
}

func known(o SettleOutcome) error {
	if o < Settled || o > Lost {
		return fmt.Errorf("%w: settle outcome %d", ErrUnknownOutcome, o)
	}
	return nil
}
