package rpc

import (
	"context"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/onceward"
)

// GetClaim implements the RPC of that name.
func (o *Onceward) GetClaim(ctx context.Context, in *oncewardv1.GetClaimRequest) (*oncewardv1.GetClaimResponse, error) {
	id, err := claimID(in, in.GetEntity())
	if err != nil {
		return nil, o.fail(ctx, err)
	}
	q := &onceward.GetClaimRequest{ClaimID: id}
	c, err := o.service.GetClaim(ctx, q)
	if err != nil {
		return nil, o.fail(ctx, err)
	}
	return &oncewardv1.GetClaimResponse{Claim: claim(&c, q.Policy)}, nil
}

// claim shows a claim; the raw key only where the namespace keeps it readable.
func claim(c *onceward.Claim, p *onceward.Policy) *oncewardv1.Claim {
	out := &oncewardv1.Claim{
		Namespace:      c.Namespace,
		Consumer:       c.Consumer,
		Key:            c.Key,
		State:          claimStates[c.State],
		Attempt:        c.Attempt,
		Owner:          c.Owner,
		EffectStarted:  c.EffectStarted,
		FencingToken:   c.Token,
		FirstClaimedAt: timestamp(c.FirstClaimedAt),
		LeaseExpiresAt: timestamp(c.LeaseExpiresAt),
		CompletedAt:    timestamp(c.CompletedAt),
		RetainedUntil:  timestamp(c.RetainedUntil),
		Reason:         c.Reason,
		Fingerprint:    []byte(c.Fingerprint),
		Result:         c.Result.Body,
		ResultType:     c.Result.Type,
		Entity:         c.Entity,
	}
	if !p.ReadableKeys {
		out.Key, out.Entity = "", ""
	}
	return out
}
