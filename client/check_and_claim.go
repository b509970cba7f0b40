package client

import (
	"context"
	"fmt"
	"time"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// Outcome is the verdict on a claim.
type Outcome = oncewardv1.ClaimOutcome

// The verdicts of [Client.CheckAndClaim]. Only Claimed permits the effect.
const (
	// Claimed: the event is the caller's. Make the effect, then Complete.
	Claimed = oncewardv1.ClaimOutcome_CLAIM_OUTCOME_CLAIMED
	// InProgress: someone holds it. Come again after RetryAfter; do not
	// acknowledge, the holder may die.
	InProgress = oncewardv1.ClaimOutcome_CLAIM_OUTCOME_IN_PROGRESS
	// Duplicate: done before, Result is the stored one. Acknowledge.
	Duplicate = oncewardv1.ClaimOutcome_CLAIM_OUTCOME_DUPLICATE
	// Conflict: the key was used with another fingerprint.
	Conflict = oncewardv1.ClaimOutcome_CLAIM_OUTCOME_CONFLICT
	// Failed: done before, as a terminal failure, Result is the stored one.
	// Acknowledge.
	Failed = oncewardv1.ClaimOutcome_CLAIM_OUTCOME_FAILED
	// Parked: waits for an operator.
	Parked = oncewardv1.ClaimOutcome_CLAIM_OUTCOME_PARKED
	// NeedsReconcile: an earlier attempt had started the effect and died.
	NeedsReconcile = oncewardv1.ClaimOutcome_CLAIM_OUTCOME_NEEDS_RECONCILE
	// OutOfOrder: the order of the entity does not let it go ahead now; what to
	// do depends on OrderOutcome, see [ApplyOutcome].
	OutOfOrder = oncewardv1.ClaimOutcome_CLAIM_OUTCOME_OUT_OF_ORDER
)

// ClaimRequest asks for one event. Durations of zero are unset: the namespace's
// policy decides. Values outside the service's bounds are refused, never
// clamped.
type ClaimRequest struct {
	// Namespace, Consumer, Key and KeyParts name the claim: see [Ref].
	Namespace string
	Consumer  string
	Key       string
	KeyParts  []string

	// RequestID is the identity of this attempt, up to 128 bytes: the same id
	// re-enters its own claim instead of colliding with it. Empty: a fresh
	// random one, which every repeat of this one call carries. [Client.Once]
	// makes its own and refuses another.
	RequestID string
	// Lease is how long the claim is exclusive, 50 ms to 24 h. Unset: the
	// namespace's; in [Client.Once], [DefaultLease].
	Lease time.Duration
	// Retention is how long the claim is remembered after it, 1 s to 10 years.
	Retention time.Duration
	// Fingerprint is a digest of the payload, up to 64 bytes: the same key with
	// another fingerprint is a Conflict. Empty: not compared.
	Fingerprint []byte
	// Owner says who is asking, for people, up to 128 bytes. It identifies
	// nothing.
	Owner string
	// Order: see [Order]. Nil in namespaces with routing: key.
	Order *Order
	// Final takes the claim in one shot: no lease, nothing to complete, and a
	// crash loses the effect. Excludes Lease. [Client.Once] refuses it.
	Final bool
	// Wait is how long to wait for a holder to finish before InProgress is
	// answered, up to 30 s; in [Client.Once] as long as you like.
	Wait time.Duration
}

// Ref returns the name of the claim, for the calls that follow.
func (r ClaimRequest) Ref() Ref {
	ref := Ref{Namespace: r.Namespace, Consumer: r.Consumer, Key: r.Key, KeyParts: r.KeyParts}
	if r.Order != nil {
		ref.Entity = r.Order.Entity
	}
	return ref
}

// Takeover tells of an earlier attempt whose lease ran out: it died, or was cut
// off, without a word about its effect. Whoever comes after it has to look, not
// only the next attempt: it is told to all that follow until one of them
// completes the claim or an operator resolves it, also if others gave the claim
// back in between.
type Takeover struct {
	// PreviousAttempt is the latest attempt whose lease ran out, 1 for the first.
	PreviousAttempt int
	// PreviousOwner is that attempt's Owner. May be empty.
	PreviousOwner string
	// EffectStarted: that attempt, or one before it, had said that its effect
	// was about to happen ([Claim.EffectStarted]). If false, and every attempt
	// says so in time, there is nothing to look for.
	EffectStarted bool
}

// ClaimResponse is a verdict with what belongs to it. All instants are of the
// service's clock.
type ClaimResponse struct {
	// Outcome is never unspecified or unknown: that is an error.
	Outcome Outcome
	// Key is the key as stored, also when derived from KeyParts.
	Key string
	// FencingToken grows with every attempt at the key. Zero unless Claimed,
	// and zero if Degraded.
	FencingToken int64
	// Attempt is 1 for the first.
	Attempt int
	// Reentrant: this RequestID held the claim already, a reply was lost.
	Reentrant bool
	// Takeover is set if any earlier attempt's lease ran out: look whether that
	// attempt made its effect before making it again. Nil otherwise.
	Takeover *Takeover
	// LeaseExpiresAt cannot be compared with a local clock; see [Client.Once]
	// for how to watch a lease.
	LeaseExpiresAt time.Time
	// RetainedUntil is when the claim will be forgotten.
	RetainedUntil time.Time
	// RetryAfter is above zero with InProgress, and with OutOfOrder by Busy.
	RetryAfter time.Duration
	// Result is set with Duplicate and Failed.
	Result Result
	// FirstClaimedAt is when the first attempt claimed the key.
	FirstClaimedAt time.Time
	// OrderOutcome is why the claim is OutOfOrder, and what to do: see
	// [ApplyOutcome]. Zero with every other outcome.
	OrderOutcome ApplyOutcome
	// Entity is the entity after this decision: with Claimed, in a namespace
	// with routing: entity, where it stands before the caller's event, and with
	// OutOfOrder what the event was compared with. Nil otherwise.
	Entity *EntityState
	// Degraded is not empty if the store could not be asked and the namespace
	// lets claims pass all the same: the effect may happen twice.
	Degraded string
	// ShadowOutcome is set in a namespace in shadow mode: what Outcome would
	// have been.
	ShadowOutcome Outcome
}

// CheckAndClaim asks whether an event was handled, is being handled, or is the
// caller's to handle. Only [Claimed] permits the effect; it obliges the caller
// to Complete, Release or ExtendLease before the lease is over.
//
// The error is a gRPC status (INVALID_ARGUMENT for a request that can never
// succeed, UNAVAILABLE or DEADLINE_EXCEEDED if the service or its store could
// not be asked; see [Reason]), or [ErrUnknownOutcome]. After an error the
// claim may have been granted all the same: asking again with the same
// RequestID finds it.
//
// A context without a deadline gets one of 5 s plus req.Wait. The same goes,
// with 5 s, for the other calls.
func (c *Client) CheckAndClaim(ctx context.Context, req ClaimRequest) (*ClaimResponse, error) {
	if req.RequestID == "" {
		req.RequestID = newRequestID()
	}
	ctx, cancel := withDeadline(ctx, callTimeout+req.Wait)
	defer cancel()
	resp, err := c.rpc.CheckAndClaim(ctx, req.proto())
	if err != nil {
		return nil, err
	}
	if err := knownClaim(resp); err != nil {
		return nil, err
	}
	return claimResponse(resp), nil
}

func knownClaim(r *oncewardv1.CheckAndClaimResponse) error {
	switch o := r.GetOutcome(); {
	case o < Claimed || o > OutOfOrder:
		return fmt.Errorf("%w: claim outcome %d", ErrUnknownOutcome, o)
	case o == OutOfOrder && (r.GetOrderOutcome() <= Applied || r.GetOrderOutcome() > Future):
		return fmt.Errorf("%w: out of order, outcome %d", ErrUnknownOutcome, r.GetOrderOutcome())
	}
	return nil
}

func (r ClaimRequest) proto() *oncewardv1.CheckAndClaimRequest {
	return &oncewardv1.CheckAndClaimRequest{
		Namespace:   r.Namespace,
		Consumer:    r.Consumer,
		Key:         r.Key,
		KeyParts:    r.KeyParts,
		RequestId:   r.RequestID,
		Lease:       durationProto(r.Lease),
		Retention:   durationProto(r.Retention),
		Fingerprint: r.Fingerprint,
		Owner:       r.Owner,
		Order:       r.Order.proto(),
		Final:       r.Final,
		Wait:        durationProto(r.Wait),
	}
}

func claimResponse(r *oncewardv1.CheckAndClaimResponse) *ClaimResponse {
	return &ClaimResponse{
		Outcome:        r.GetOutcome(),
		Key:            r.GetKey(),
		FencingToken:   r.GetFencingToken(),
		Attempt:        int(r.GetAttempt()),
		Reentrant:      r.GetReentrant(),
		Takeover:       takeover(r.GetTakeover()),
		LeaseExpiresAt: goTime(r.GetLeaseExpiresAt()),
		RetainedUntil:  goTime(r.GetRetainedUntil()),
		RetryAfter:     r.GetRetryAfter().AsDuration(),
		Result:         replayedResult(r),
		FirstClaimedAt: goTime(r.GetFirstClaimedAt()),
		OrderOutcome:   r.GetOrderOutcome(),
		Entity:         r.GetEntity(),
		Degraded:       degraded(r.GetDegraded()),
		ShadowOutcome:  r.GetShadowOutcome(),
	}
}

func replayedResult(r *oncewardv1.CheckAndClaimResponse) Result {
	if r.GetOutcome() != Duplicate && r.GetOutcome() != Failed {
		return Result{}
	}
	return Result{
		Data:        r.GetResult(),
		Type:        r.GetResultType(),
		Replayed:    true,
		Expired:     r.GetResultExpired(),
		CompletedAt: goTime(r.GetCompletedAt()),
	}
}

func takeover(t *oncewardv1.Takeover) *Takeover {
	if t == nil {
		return nil
	}
	return &Takeover{
		PreviousAttempt: int(t.GetPreviousAttempt()),
		PreviousOwner:   t.GetPreviousOwner(),
		EffectStarted:   t.GetEffectStarted(),
	}
}

func degraded(d *oncewardv1.Degraded) string {
	if d == nil {
		return ""
	}
	if d.GetReason() == "" {
		return "unknown"
	}
	return d.GetReason()
}
