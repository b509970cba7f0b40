package rpc

import (
	"context"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/onceward"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// ApplyIfNewer implements the RPC of that name.
func (o *Onceward) ApplyIfNewer(ctx context.Context, in *oncewardv1.ApplyIfNewerRequest) (*oncewardv1.ApplyIfNewerResponse, error) {
	q, err := applyIfNewerRequest(in)
	if err != nil {
		return nil, o.fail(ctx, err)
	}
	v, err := o.service.ApplyIfNewer(ctx, q)
	if err != nil {
		return nil, o.fail(ctx, err)
	}
	return &oncewardv1.ApplyIfNewerResponse{
		Outcome:         applyOutcomes[v.Outcome],
		Current:         entityState(&v.Current),
		PreviousVersion: toVersion(v.Previous),
		FirstSeen:       v.FirstSeen,
		Reentrant:       v.Reentrant,
		FillsGap:        v.FillsGap,
		MissingCount:    v.Current.MissingCount(),
		RetryAfter:      positive(v.RetryAfter),
		Degraded:        degraded(v.Degraded),
		ShadowOutcome:   applyOutcomes[v.Shadow],
	}, nil
}

func applyIfNewerRequest(in *oncewardv1.ApplyIfNewerRequest) (*onceward.ApplyIfNewerRequest, error) {
	var d decoder
	q := &onceward.ApplyIfNewerRequest{
		EntityID:  entityID(in),
		Event:     onceward.Event{Version: d.version("version", in.GetVersion()), ID: in.GetEventId(), State: in.GetState()},
		RequestID: in.GetRequestId(),
		Retention: d.duration("retention", in.GetRetention()),
	}
	return q, d.err
}

// GetEntity implements the RPC of that name.
func (o *Onceward) GetEntity(ctx context.Context, in *oncewardv1.GetEntityRequest) (*oncewardv1.GetEntityResponse, error) {
	e, err := o.service.GetEntity(ctx, &onceward.GetEntityRequest{EntityID: entityID(in)})
	if err != nil {
		return nil, o.fail(ctx, err)
	}
	if !e.Known() {
		return &oncewardv1.GetEntityResponse{}, nil
	}
	return &oncewardv1.GetEntityResponse{Found: true, Entity: entityState(&e)}, nil
}

// entityNamed is what every request that names an entity has.
type entityNamed interface {
	GetNamespace() string
	GetConsumer() string
	GetEntity() string
}

func entityID(in entityNamed) onceward.EntityID {
	return onceward.EntityID{Namespace: in.GetNamespace(), Consumer: in.GetConsumer(), Entity: in.GetEntity()}
}

// version reads a version. One that is there but has no value is an error of
// its own: it must not pass for "none".
func (d *decoder) version(field string, in *oncewardv1.Version) onceward.Version {
	if in == nil {
		return onceward.Version{}
	}
	v := onceward.Version{Epoch: in.GetEpoch(), Rank: in.GetRank()}
	switch value := in.GetValue().(type) {
	case *oncewardv1.Version_Sequence:
		v.Kind, v.Sequence = onceward.Sequence, value.Sequence
	case *oncewardv1.Version_Timestamp:
		v.Kind, v.Time = onceward.Timestamp, value.Timestamp.AsTime()
		if n := value.Timestamp.GetNanos(); n < 0 || n >= 1e9 {
			d.fail(field+".timestamp", "is not a well-formed timestamp: nanos must be from 0 to 999999999")
		}
	case *oncewardv1.Version_Decimal:
		v.Kind, v.Decimal = onceward.Decimal, value.Decimal
	default:
		d.fail(field, "has no value: a sequence, a timestamp or a decimal")
	}
	return v
}

func toVersion(v onceward.Version) *oncewardv1.Version {
	if v.IsZero() {
		return nil
	}
	out := &oncewardv1.Version{Epoch: v.Epoch, Rank: v.Rank}
	switch v.Kind {
	case onceward.Sequence:
		out.Value = &oncewardv1.Version_Sequence{Sequence: v.Sequence}
	case onceward.Timestamp:
		out.Value = &oncewardv1.Version_Timestamp{Timestamp: timestamppb.New(v.Time)}
	case onceward.Decimal:
		out.Value = &oncewardv1.Version_Decimal{Decimal: v.Decimal}
	}
	return out
}

func entityState(e *onceward.Entity) *oncewardv1.EntityState {
	if e == nil {
		return nil
	}
	out := &oncewardv1.EntityState{
		EventId:          e.EventID,
		State:            e.State,
		AppliedAt:        timestamp(e.AppliedAt),
		MissingTruncated: e.Truncated,
		NeedsReconcile:   e.Open != 0,
		ReconcileReason:  e.Reason.String(),
		FlaggedAt:        timestamp(e.FlaggedAt),
	}
	out.Version = toVersion(e.Watermark())
	for _, r := range e.Missing {
		out.Missing = append(out.Missing, &oncewardv1.VersionRange{First: r.First, Last: r.Last})
	}
	return out
}

var applyOutcomes = map[onceward.ApplyOutcome]oncewardv1.ApplyOutcome{
	onceward.Applied:          oncewardv1.ApplyOutcome_APPLY_OUTCOME_APPLIED,
	onceward.SameAgain:        oncewardv1.ApplyOutcome_APPLY_OUTCOME_DUPLICATE,
	onceward.Stale:            oncewardv1.ApplyOutcome_APPLY_OUTCOME_STALE,
	onceward.GapBefore:        oncewardv1.ApplyOutcome_APPLY_OUTCOME_GAP,
	onceward.Tie:              oncewardv1.ApplyOutcome_APPLY_OUTCOME_TIE,
	onceward.Busy:             oncewardv1.ApplyOutcome_APPLY_OUTCOME_BUSY,
	onceward.TransitionDenied: oncewardv1.ApplyOutcome_APPLY_OUTCOME_TRANSITION_DENIED,
	onceward.Future:           oncewardv1.ApplyOutcome_APPLY_OUTCOME_FUTURE,
}
