package rpc

import (
	"context"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/onceward"
)

// Complete implements the RPC of that name.
func (o *Onceward) Complete(ctx context.Context, in *oncewardv1.CompleteRequest) (*oncewardv1.CompleteResponse, error) {
	q, err := completeRequest(in)
	if err != nil {
		return nil, o.fail(ctx, err)
	}
	v, err := o.service.Complete(ctx, q)
	if err != nil {
		return nil, o.fail(ctx, err)
	}
	return &oncewardv1.CompleteResponse{
		Outcome:       settleOutcomes[v.Outcome],
		State:         claimStates[v.State],
		Late:          v.Late,
		Recreated:     v.Recreated,
		RetainedUntil: timestamp(v.RetainedUntil),
		Entity:        entityState(v.Entity),
	}, nil
}

func completeRequest(in *oncewardv1.CompleteRequest) (*onceward.CompleteRequest, error) {
	id, err := claimID(in, in.GetEntity())
	if err != nil {
		return nil, err
	}
	var d decoder
	q := &onceward.CompleteRequest{
		ClaimID:         id,
		Token:           in.GetFencingToken(),
		Result:          in.GetResult(),
		ResultType:      in.GetResultType(),
		Failed:          in.GetFailed(),
		Retention:       d.duration("retention", in.GetRetention()),
		ResultRetention: d.duration("result_retention", in.GetResultRetention()),
	}
	return q, d.err
}

// Release implements the RPC of that name.
func (o *Onceward) Release(ctx context.Context, in *oncewardv1.ReleaseRequest) (*oncewardv1.ReleaseResponse, error) {
	q, err := releaseRequest(in)
	if err != nil {
		return nil, o.fail(ctx, err)
	}
	v, err := o.service.Release(ctx, q)
	if err != nil {
		return nil, o.fail(ctx, err)
	}
	return &oncewardv1.ReleaseResponse{Outcome: settleOutcomes[v.Outcome], State: claimStates[v.State]}, nil
}

func releaseRequest(in *oncewardv1.ReleaseRequest) (*onceward.ReleaseRequest, error) {
	id, err := claimID(in, in.GetEntity())
	if err != nil {
		return nil, err
	}
	var d decoder
	q := &onceward.ReleaseRequest{
		ClaimID:    id,
		Token:      in.GetFencingToken(),
		Reason:     in.GetReason(),
		RetryAfter: d.duration("retry_after", in.GetRetryAfter()),
		Park:       in.GetPark(),
	}
	return q, d.err
}

// ExtendLease implements the RPC of that name.
func (o *Onceward) ExtendLease(ctx context.Context, in *oncewardv1.ExtendLeaseRequest) (*oncewardv1.ExtendLeaseResponse, error) {
	q, err := extendLeaseRequest(in)
	if err != nil {
		return nil, o.fail(ctx, err)
	}
	v, err := o.service.ExtendLease(ctx, q)
	if err != nil {
		return nil, o.fail(ctx, err)
	}
	return &oncewardv1.ExtendLeaseResponse{
		Outcome:        settleOutcomes[v.Outcome],
		State:          claimStates[v.State],
		LeaseExpiresAt: timestamp(v.LeaseExpiresAt),
	}, nil
}

func extendLeaseRequest(in *oncewardv1.ExtendLeaseRequest) (*onceward.ExtendLeaseRequest, error) {
	id, err := claimID(in, in.GetEntity())
	if err != nil {
		return nil, err
	}
	var d decoder
	q := &onceward.ExtendLeaseRequest{
		ClaimID:       id,
		Token:         in.GetFencingToken(),
		Lease:         d.duration("lease", in.GetLease()),
		EffectStarted: in.GetEffectStarted(),
	}
	return q, d.err
}

var settleOutcomes = map[onceward.SettleOutcome]oncewardv1.SettleOutcome{
	onceward.OK:             oncewardv1.SettleOutcome_SETTLE_OUTCOME_OK,
	onceward.AlreadySettled: oncewardv1.SettleOutcome_SETTLE_OUTCOME_ALREADY_SETTLED,
	onceward.Lost:           oncewardv1.SettleOutcome_SETTLE_OUTCOME_LOST,
}

var claimStates = map[onceward.State]oncewardv1.ClaimState{
	onceward.Absent:     oncewardv1.ClaimState_CLAIM_STATE_ABSENT,
	onceward.InProgress: oncewardv1.ClaimState_CLAIM_STATE_IN_PROGRESS,
	onceward.Expired:    oncewardv1.ClaimState_CLAIM_STATE_EXPIRED,
	onceward.Released:   oncewardv1.ClaimState_CLAIM_STATE_RELEASED,
	onceward.Completed:  oncewardv1.ClaimState_CLAIM_STATE_COMPLETED,
	onceward.Failed:     oncewardv1.ClaimState_CLAIM_STATE_FAILED,
	onceward.Parked:     oncewardv1.ClaimState_CLAIM_STATE_PARKED,
}
