package client

import (
	"context"
	"fmt"
	"time"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// ApplyRequest asks whether an event is newer than everything that was applied
// to its entity. Values outside the service's bounds are refused, never clamped.
type ApplyRequest struct {
	// Namespace, Consumer and Entity name the entity: see [EntityRef].
	Namespace string
	Consumer  string
	Entity    string

	// Version is the event's place in the order of its entity: see [Sequence],
	// [Timestamp] and [Decimal]. Required, except for an event with a State in a
	// namespace with transitions.
	Version *Version
	// EventID is the event's stable identity, the same on every delivery, up to
	// 1024 bytes. It tells a repeat (AlreadyApplied) from another event of the
	// same version (Tie). Empty: an equal version is always a repeat.
	EventID string
	// State is what the event leads to, up to 128 bytes, for namespaces with
	// transitions. Empty: not judged.
	State string

	// RequestID is the identity of this attempt, up to 128 bytes: while the
	// version is still the newest, the same id is answered Applied again. Empty:
	// a fresh random one, which every repeat of this one call carries. See
	// [Client.Apply] for when to set it.
	RequestID string
	// Retention is how long the entity is remembered after this call, 1 s to 10
	// years. Zero: the namespace's ordering retention (90 days unless set).
	Retention time.Duration
}

// ApplyResponse is a verdict with what belongs to it.
type ApplyResponse struct {
	// Outcome is never unspecified or unknown: that is an error. What each
	// demands is said there: see [ApplyOutcome].
	Outcome ApplyOutcome
	// Current is the entity after this decision, whatever the outcome.
	Current *EntityState
	// PreviousVersion is what an Applied version replaced. Nil if there was none.
	PreviousVersion *Version
	// FirstSeen: Applied, and no earlier version was remembered. There may have
	// been one all the same, which was forgotten after its retention.
	FirstSeen bool
	// Reentrant: this RequestID was answered Applied before.
	Reentrant bool
	// FillsGap: a Stale event that was known to be missing. Its content may
	// matter where every event does, although its state does not.
	FillsGap bool
	// MissingCount is how many versions are known to be missing now; with
	// Current.MissingTruncated at least as many.
	MissingCount uint64
	// RetryAfter is when to ask again. Above zero with Busy, else zero.
	RetryAfter time.Duration
	// Degraded is not empty if the store could not be asked and the namespace
	// lets events pass all the same: nothing was compared or remembered.
	Degraded string
	// ShadowOutcome is set in a namespace in shadow mode: what Outcome would
	// have been.
	ShadowOutcome ApplyOutcome
}

// Apply (ApplyIfNewer on the wire) compares an event's version with the newest
// one applied to its entity, and moves that watermark if the event is newer.
// Only [Applied] permits the effect.
//
// The watermark moves before the effect, so Apply suits effects that are safe to
// repeat, such as copying a state. Two things are left to the caller:
//
//   - A process that dies between the answer and the effect loses the event: its
//     next delivery is AlreadyApplied. Set RequestID to the event's id, and every
//     delivery of the event is Applied again for as long as nothing newer was.
//   - Two events that were both Applied may write in either order. Write only if
//     what is stored is older (one UPDATE with a condition on the version).
//
// For every other effect, use [Client.Once] with [ClaimRequest].Order: the
// watermark moves after the effect, and the events of one entity do not overlap.
//
// A call that is not answered is repeated with the same RequestID: by gRPC (see
// [ServiceConfig]), and then once more by Apply. The error is a gRPC status
// (INVALID_ARGUMENT for a request that can never succeed, FAILED_PRECONDITION
// with the reason VERSION_KIND_MISMATCH, UNAVAILABLE or DEADLINE_EXCEEDED if the
// service or its store could not be asked; see [Reason]), or
// [ErrUnknownOutcome]. After an error do not make the effect and do not
// acknowledge; the watermark may have moved all the same, so that the next
// delivery needs the same RequestID.
//
// A context without a deadline gets one of 5 s for each of the two tries.
func (c *Client) Apply(ctx context.Context, req ApplyRequest) (*ApplyResponse, error) {
	if req.RequestID == "" {
		req.RequestID = newRequestID()
	}
	answer, err := c.apply(ctx, req)
	if unanswered(err) && sleep(ctx, jitter(100*time.Millisecond)) == nil {
		answer, err = c.apply(ctx, req)
	}
	return answer, err
}

func (c *Client) apply(ctx context.Context, req ApplyRequest) (*ApplyResponse, error) {
	ctx, cancel := withDeadline(ctx, callTimeout)
	defer cancel()
	resp, err := c.rpc.ApplyIfNewer(ctx, req.proto())
	if err != nil {
		return nil, err
	}
	if err := knownApply(resp.GetOutcome()); err != nil {
		return nil, err
	}
	return applyResponse(resp), nil
}

func (r ApplyRequest) proto() *oncewardv1.ApplyIfNewerRequest {
	return &oncewardv1.ApplyIfNewerRequest{
		Namespace: r.Namespace,
		Consumer:  r.Consumer,
		Entity:    r.Entity,
		Version:   r.Version,
		EventId:   r.EventID,
		State:     r.State,
		RequestId: r.RequestID,
		Retention: durationProto(r.Retention),
	}
}

func applyResponse(r *oncewardv1.ApplyIfNewerResponse) *ApplyResponse {
	return &ApplyResponse{
		Outcome:         r.GetOutcome(),
		Current:         r.GetCurrent(),
		PreviousVersion: r.GetPreviousVersion(),
		FirstSeen:       r.GetFirstSeen(),
		Reentrant:       r.GetReentrant(),
		FillsGap:        r.GetFillsGap(),
		MissingCount:    r.GetMissingCount(),
		RetryAfter:      r.GetRetryAfter().AsDuration(),
		Degraded:        degraded(r.GetDegraded()),
		ShadowOutcome:   r.GetShadowOutcome(),
	}
}

func knownApply(o ApplyOutcome) error {
	if o < Applied || o > Future {
		return fmt.Errorf("%w: apply outcome %d", ErrUnknownOutcome, o)
	}
	return nil
}
