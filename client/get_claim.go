package client

import (
	"context"
	"time"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// Record is what is stored of a claim. All instants are of the service's clock.
type Record struct {
	Ref
	// State is StateAbsent where there is no record.
	State State
	// Attempt counts from 1.
	Attempt int
	Owner   string
	// EffectStarted: see [Claim.EffectStarted].
	EffectStarted  bool
	FencingToken   int64
	FirstClaimedAt time.Time
	LeaseExpiresAt time.Time
	CompletedAt    time.Time
	RetainedUntil  time.Time
	// Reason is that of the last release.
	Reason      string
	Fingerprint []byte
	Result      Result
}

// GetClaim reads a claim's record. A claim that does not exist is no error: its
// State is StateAbsent. What is read may be outdated on arrival; never decide
// about an effect by it.
func (c *Client) GetClaim(ctx context.Context, ref Ref) (*Record, error) {
	ctx, cancel := withDeadline(ctx, callTimeout)
	defer cancel()
	resp, err := c.rpc.GetClaim(ctx, ref.proto())
	if err != nil {
		return nil, err
	}
	return record(resp.GetClaim()), nil
}

func (r Ref) proto() *oncewardv1.GetClaimRequest {
	return &oncewardv1.GetClaimRequest{
		Namespace: r.Namespace,
		Consumer:  r.Consumer,
		Key:       r.Key,
		KeyParts:  r.KeyParts,
		Entity:    r.Entity,
	}
}

func record(c *oncewardv1.Claim) *Record {
	return &Record{
		Ref:            Ref{Namespace: c.GetNamespace(), Consumer: c.GetConsumer(), Key: c.GetKey(), Entity: c.GetEntity()},
		State:          c.GetState(),
		Attempt:        int(c.GetAttempt()),
		Owner:          c.GetOwner(),
		EffectStarted:  c.GetEffectStarted(),
		FencingToken:   c.GetFencingToken(),
		FirstClaimedAt: goTime(c.GetFirstClaimedAt()),
		LeaseExpiresAt: goTime(c.GetLeaseExpiresAt()),
		CompletedAt:    goTime(c.GetCompletedAt()),
		RetainedUntil:  goTime(c.GetRetainedUntil()),
		Reason:         c.GetReason(),
		Fingerprint:    c.GetFingerprint(),
		Result:         Result{Data: c.GetResult(), Type: c.GetResultType(), CompletedAt: goTime(c.GetCompletedAt())},
	}
}
