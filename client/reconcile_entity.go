package client

import (
	"context"
	"fmt"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// ReconcileEntityRequest is what the source of truth says about an entity.
type ReconcileEntityRequest struct {
	EntityRef
	// Version is that of what the source says now. Required, except with a State
	// in a namespace with transitions.
	Version *Version
	// EventID is the event that the version came from, if the source tells.
	EventID string
	// State is what the source tells. Empty: the entity's stays.
	State string
	// AllowBackwards lets the watermark go back, or change to another kind of
	// version: events that were Stale become new again.
	AllowBackwards bool
	// Actor is who has asked the source, for the decision log, up to 128 bytes.
	// Required.
	Actor string
	// Reason is why, for the decision log, up to 1 KiB. Required.
	Reason string
}

// ReconcileEntityResponse answers a ReconcileEntityRequest.
type ReconcileEntityResponse struct {
	// Outcome is Applied: the entity was set, its flag and the holes up to the
	// version are gone. Or Stale: newer events came meanwhile and nothing was
	// changed; if the entity is still flagged, ask the source again.
	Outcome ApplyOutcome
	// Current is the entity after this call.
	Current *EntityState
}

// ReconcileEntity sets an entity to what the source of truth says: the way out
// of Gap, Tie and TransitionDenied. Package reconcile does it for all flagged
// entities of a namespace.
//
// It clears the flag, which is the only memory that something is to be mended:
// mend the local state first. It does not wait for a worker that holds a claim
// on the entity. Repeating it is safe.
//
// It is a call for operators: see [Client.ListEntities]. The error is a gRPC
// status (FAILED_PRECONDITION with the reason VERSION_KIND_MISMATCH if the
// entity has versions of another kind), or [ErrUnknownOutcome].
func (c *Client) ReconcileEntity(ctx context.Context, req ReconcileEntityRequest) (*ReconcileEntityResponse, error) {
	ctx, cancel := withDeadline(ctx, callTimeout)
	defer cancel()
	resp, err := c.admin.ReconcileEntity(ctx, req.proto())
	if err != nil {
		return nil, err
	}
	if o := resp.GetOutcome(); o != Applied && o != Stale {
		return nil, fmt.Errorf("%w: reconcile outcome %d", ErrUnknownOutcome, o)
	}
	return &ReconcileEntityResponse{Outcome: resp.GetOutcome(), Current: resp.GetCurrent()}, nil
}

func (r ReconcileEntityRequest) proto() *oncewardv1.ReconcileEntityRequest {
	return &oncewardv1.ReconcileEntityRequest{
		Namespace:      r.Namespace,
		Consumer:       r.Consumer,
		Entity:         r.Entity,
		Version:        r.Version,
		EventId:        r.EventID,
		State:          r.State,
		AllowBackwards: r.AllowBackwards,
		Actor:          r.Actor,
		Reason:         r.Reason,
	}
}
