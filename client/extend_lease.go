package client

import (
	"context"
	"time"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// ExtendLeaseRequest prolongs a claim's lease.
type ExtendLeaseRequest struct {
	Ref
	// FencingToken is the claim's.
	FencingToken int64
	// Lease counts from now, 50 ms to 24 h. Zero: the namespace's.
	Lease time.Duration
	// EffectStarted records that from here on the effect may have happened. It
	// cannot be taken back.
	EffectStarted bool
}

// ExtendLease prolongs the lease. After anything but [Settled] the caller must
// stop working on the event. After an error the lease may or may not be longer:
// trust only an end counted from before the last request that was answered.
func (c *Client) ExtendLease(ctx context.Context, req ExtendLeaseRequest) (*SettleResponse, error) {
	ctx, cancel := withDeadline(ctx, callTimeout)
	defer cancel()
	resp, err := c.rpc.ExtendLease(ctx, req.proto())
	if err != nil {
		return nil, err
	}
	if err := known(resp.GetOutcome()); err != nil {
		return nil, err
	}
	return &SettleResponse{
		Outcome:        resp.GetOutcome(),
		State:          resp.GetState(),
		LeaseExpiresAt: goTime(resp.GetLeaseExpiresAt()),
	}, nil
}

func (r ExtendLeaseRequest) proto() *oncewardv1.ExtendLeaseRequest {
	return &oncewardv1.ExtendLeaseRequest{
		Namespace:     r.Namespace,
		Consumer:      r.Consumer,
		Key:           r.Key,
		KeyParts:      r.KeyParts,
		Entity:        r.Entity,
		FencingToken:  r.FencingToken,
		Lease:         durationProto(r.Lease),
		EffectStarted: r.EffectStarted,
	}
}
