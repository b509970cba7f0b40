package rpc

import (
	"context"
	"log/slog"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/onceward"
)

// Admin implements the AdminService of the contract.
type Admin struct {
	oncewardv1.UnimplementedAdminServiceServer
	service *onceward.Service
	log     *slog.Logger
}

// NewAdmin returns the operators' gRPC implementation.
func NewAdmin(s *onceward.Service, log *slog.Logger) *Admin { return &Admin{service: s, log: log} }

func (a *Admin) fail(ctx context.Context, err error) error { return toStatus(ctx, a.log, err) }

// ForgetClaim implements the RPC of that name.
func (a *Admin) ForgetClaim(ctx context.Context, in *oncewardv1.ForgetClaimRequest) (*oncewardv1.ForgetClaimResponse, error) {
	id, err := claimID(in, in.GetEntity())
	if err != nil {
		return nil, a.fail(ctx, err)
	}
	q := &onceward.ForgetClaimRequest{ClaimID: id, Act: act(in)}
	was, err := a.service.ForgetClaim(ctx, q)
	if err != nil {
		return nil, a.fail(ctx, err)
	}
	return &oncewardv1.ForgetClaimResponse{Forgotten: claim(&was, q.Policy)}, nil
}

// ResolveClaim implements the RPC of that name.
func (a *Admin) ResolveClaim(ctx context.Context, in *oncewardv1.ResolveClaimRequest) (*oncewardv1.ResolveClaimResponse, error) {
	id, err := claimID(in, in.GetEntity())
	if err != nil {
		return nil, a.fail(ctx, err)
	}
	q := &onceward.ResolveClaimRequest{
		ClaimID:    id,
		Act:        act(in),
		Resolution: resolutions[in.GetResolution()],
		Result:     in.GetResult(),
	}
	now, err := a.service.ResolveClaim(ctx, q)
	if err != nil {
		return nil, a.fail(ctx, err)
	}
	return &oncewardv1.ResolveClaimResponse{Claim: claim(&now, q.Policy)}, nil
}

var resolutions = map[oncewardv1.ResolveClaimRequest_Resolution]onceward.Resolution{
	oncewardv1.ResolveClaimRequest_RESOLUTION_DONE:     onceward.Done,
	oncewardv1.ResolveClaimRequest_RESOLUTION_NOT_DONE: onceward.NotDone,
}

// ReconcileEntity implements the RPC of that name.
func (a *Admin) ReconcileEntity(ctx context.Context, in *oncewardv1.ReconcileEntityRequest) (*oncewardv1.ReconcileEntityResponse, error) {
	var d decoder
	q := &onceward.ReconcileEntityRequest{
		EntityID:       entityID(in),
		Event:          onceward.Event{Version: d.version("version", in.GetVersion()), ID: in.GetEventId(), State: in.GetState()},
		Act:            act(in),
		AllowBackwards: in.GetAllowBackwards(),
	}
	if d.err != nil {
		return nil, a.fail(ctx, d.err)
	}
	outcome, now, err := a.service.ReconcileEntity(ctx, q)
	if err != nil {
		return nil, a.fail(ctx, err)
	}
	return &oncewardv1.ReconcileEntityResponse{Outcome: applyOutcomes[outcome], Current: entityState(&now)}, nil
}

// ForgetEntity implements the RPC of that name.
func (a *Admin) ForgetEntity(ctx context.Context, in *oncewardv1.ForgetEntityRequest) (*oncewardv1.ForgetEntityResponse, error) {
	was, err := a.service.ForgetEntity(ctx, &onceward.ForgetEntityRequest{EntityID: entityID(in), Act: act(in)})
	if err != nil {
		return nil, a.fail(ctx, err)
	}
	return &oncewardv1.ForgetEntityResponse{Forgotten: entityState(&was)}, nil
}

func act(in interface {
	GetActor() string
	GetReason() string
}) onceward.Act {
	return onceward.Act{Actor: in.GetActor(), Reason: in.GetReason()}
}
