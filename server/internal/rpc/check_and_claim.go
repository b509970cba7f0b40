package rpc

import (
	"context"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/onceward"
)

// CheckAndClaim implements the RPC of that name.
func (o *Onceward) CheckAndClaim(ctx context.Context, in *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
	q, err := checkAndClaimRequest(in)
	if err != nil {
		return nil, o.fail(ctx, err)
	}
	v, err := o.service.CheckAndClaim(ctx, q)
	if err != nil {
		return nil, o.fail(ctx, err)
	}
	return checkAndClaimResponse(q, &v), nil
}

func checkAndClaimRequest(in *oncewardv1.CheckAndClaimRequest) (*onceward.CheckAndClaimRequest, error) {
	id, err := claimID(in, in.GetOrder().GetEntity())
	if err != nil {
		return nil, err
	}
	var d decoder
	q := &onceward.CheckAndClaimRequest{
		ClaimID:     id,
		Ordered:     in.GetOrder() != nil,
		Event:       onceward.Event{Version: d.version("order.version", in.GetOrder().GetVersion()), State: in.GetOrder().GetState()},
		RequestID:   in.GetRequestId(),
		Lease:       d.duration("lease", in.GetLease()),
		Retention:   d.duration("retention", in.GetRetention()),
		Fingerprint: string(in.GetFingerprint()),
		Owner:       in.GetOwner(),
		Final:       in.GetFinal(),
		Wait:        d.duration("wait", in.GetWait()),
	}
	return q, d.err
}

func checkAndClaimResponse(q *onceward.CheckAndClaimRequest, v *onceward.ClaimVerdict) *oncewardv1.CheckAndClaimResponse {
	out := &oncewardv1.CheckAndClaimResponse{
		Outcome:        claimOutcomes[v.Outcome],
		Key:            q.Key,
		FencingToken:   v.Token,
		Attempt:        v.Attempt,
		Reentrant:      v.Reentrant,
		LeaseExpiresAt: timestamp(v.LeaseExpiresAt),
		RetainedUntil:  timestamp(v.RetainedUntil),
		RetryAfter:     positive(v.RetryAfter),
		Result:         v.Result.Body,
		ResultType:     v.Result.Type,
		FirstClaimedAt: timestamp(v.FirstClaimedAt),
		CompletedAt:    timestamp(v.CompletedAt),
		ResultExpired:  v.ResultExpired,
		OrderOutcome:   applyOutcomes[v.Order],
		Entity:         entityState(v.Entity),
		Degraded:       degraded(v.Degraded),
		ShadowOutcome:  claimOutcomes[v.Shadow],
	}
	if t := v.Takeover; t != nil {
		out.Takeover = &oncewardv1.Takeover{PreviousAttempt: t.PreviousAttempt, PreviousOwner: t.PreviousOwner, EffectStarted: t.EffectStarted}
	}
	return out
}

// degraded is nil where the store was asked.
func degraded(why string) *oncewardv1.Degraded {
	if why == "" {
		return nil
	}
	return &oncewardv1.Degraded{Reason: why}
}

var claimOutcomes = map[onceward.ClaimOutcome]oncewardv1.ClaimOutcome{
	onceward.Claimed:         oncewardv1.ClaimOutcome_CLAIM_OUTCOME_CLAIMED,
	onceward.StillInProgress: oncewardv1.ClaimOutcome_CLAIM_OUTCOME_IN_PROGRESS,
	onceward.Duplicate:       oncewardv1.ClaimOutcome_CLAIM_OUTCOME_DUPLICATE,
	onceward.Conflict:        oncewardv1.ClaimOutcome_CLAIM_OUTCOME_CONFLICT,
	onceward.AlreadyFailed:   oncewardv1.ClaimOutcome_CLAIM_OUTCOME_FAILED,
	onceward.IsParked:        oncewardv1.ClaimOutcome_CLAIM_OUTCOME_PARKED,
	onceward.OutOfOrder:      oncewardv1.ClaimOutcome_CLAIM_OUTCOME_OUT_OF_ORDER,
	onceward.NeedsReconcile:  oncewardv1.ClaimOutcome_CLAIM_OUTCOME_NEEDS_RECONCILE,
}
