package client

import (
	"context"
	"time"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// ReleaseRequest gives a claim back without a result.
type ReleaseRequest struct {
	Ref
	// FencingToken is the claim's.
	FencingToken int64
	// Reason is shown to operators, up to 1 KiB.
	Reason string
	// RetryAfter holds the key back, up to 24 h. Zero: not at all.
	RetryAfter time.Duration
	// Park lets no attempt follow until an operator has decided. Required if
	// the effect was said to have started: the service refuses a release
	// without it (reason EFFECT_STARTED).
	Park bool
}

// SettleResponse answers a ReleaseRequest or an ExtendLeaseRequest.
type SettleResponse struct {
	Outcome SettleOutcome
	// State is what the record is in now.
	State State
	// LeaseExpiresAt is the lease's new end, by the service's clock. Zero for a
	// release.
	LeaseExpiresAt time.Time
}

// Release gives the claim back, so that another attempt may come before the
// lease is over. An error does no harm: the lease runs out by itself.
func (c *Client) Release(ctx context.Context, req ReleaseRequest) (*SettleResponse, error) {
	ctx, cancel := withDeadline(ctx, callTimeout)
	defer cancel()
	resp, err := c.rpc.Release(ctx, req.proto())
	if err != nil {
		return nil, err
	}
	if err := known(resp.GetOutcome()); err != nil {
		return nil, err
	}
	return &SettleResponse{Outcome: resp.GetOutcome(), State: resp.GetState()}, nil
}

func (r ReleaseRequest) proto() *oncewardv1.ReleaseRequest {
	return &oncewardv1.ReleaseRequest{
		Namespace:    r.Namespace,
		Consumer:     r.Consumer,
		Key:          r.Key,
		KeyParts:     r.KeyParts,
		Entity:       r.Entity,
		FencingToken: r.FencingToken,
		Reason:       r.Reason,
		RetryAfter:   durationProto(r.RetryAfter),
		Park:         r.Park,
	}
}
