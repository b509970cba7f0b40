package rpc

import (
	"context"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/onceward"
)

// ListClaims implements the RPC of that name.
func (a *Admin) ListClaims(ctx context.Context, in *oncewardv1.ListClaimsRequest) (*oncewardv1.ListClaimsResponse, error) {
	q := &onceward.ListClaimsRequest{Namespace: in.GetNamespace(), State: listed[in.GetState()], Page: page(in)}
	p, err := a.service.ListClaims(ctx, q)
	if err != nil {
		return nil, a.fail(ctx, err)
	}
	out := &oncewardv1.ListClaimsResponse{NextPageToken: p.Next}
	for i := range p.Claims {
		out.Claims = append(out.Claims, claim(&p.Claims[i], q.Policy))
	}
	return out, nil
}

// listed are the states that can be listed.
var listed = map[oncewardv1.ClaimState]onceward.State{
	oncewardv1.ClaimState_CLAIM_STATE_IN_PROGRESS: onceward.InProgress,
	oncewardv1.ClaimState_CLAIM_STATE_EXPIRED:     onceward.Expired,
	oncewardv1.ClaimState_CLAIM_STATE_PARKED:      onceward.Parked,
}

// ListEntities implements the RPC of that name.
func (a *Admin) ListEntities(ctx context.Context, in *oncewardv1.ListEntitiesRequest) (*oncewardv1.ListEntitiesResponse, error) {
	p, err := a.service.ListEntities(ctx, &onceward.ListEntitiesRequest{Namespace: in.GetNamespace(), Page: page(in)})
	if err != nil {
		return nil, a.fail(ctx, err)
	}
	out := &oncewardv1.ListEntitiesResponse{NextPageToken: p.Next}
	for i := range p.Entities {
		e := &p.Entities[i]
		out.Entities = append(out.Entities, &oncewardv1.ListedEntity{Consumer: e.Consumer, Entity: e.EntityID.Entity, State: entityState(&e.Entity)})
	}
	return out, nil
}

// ListDecisions implements the RPC of that name.
func (a *Admin) ListDecisions(ctx context.Context, in *oncewardv1.ListDecisionsRequest) (*oncewardv1.ListDecisionsResponse, error) {
	p, err := a.service.ListDecisions(ctx, &onceward.ListDecisionsRequest{
		Namespace: in.GetNamespace(), Consumer: in.GetConsumer(), Key: in.GetKey(), Entity: in.GetEntity(), Page: page(in),
	})
	if err != nil {
		return nil, a.fail(ctx, err)
	}
	out := &oncewardv1.ListDecisionsResponse{NextPageToken: p.Next}
	for i := range p.Decisions {
		out.Decisions = append(out.Decisions, decision(&p.Decisions[i]))
	}
	return out, nil
}

func decision(d *onceward.Decision) *oncewardv1.Decision {
	return &oncewardv1.Decision{
		DecidedAt: timestamp(d.At),
		Namespace: d.Namespace,
		Consumer:  d.Consumer,
		Rpc:       d.RPC,
		Subject:   d.Subject,
		Outcome:   d.Outcome,
		Version:   toVersion(d.Version),
		EventId:   d.EventID,
		Attempt:   d.Attempt,
		Owner:     d.Owner,
		Actor:     d.Actor,
		Reason:    d.Reason,
		Entity:    d.Entity,
	}
}

// GetOverview implements the RPC of that name.
func (a *Admin) GetOverview(ctx context.Context, in *oncewardv1.GetOverviewRequest) (*oncewardv1.GetOverviewResponse, error) {
	o, err := a.service.Overview(ctx, in.GetNamespace())
	if err != nil {
		return nil, a.fail(ctx, err)
	}
	out := &oncewardv1.GetOverviewResponse{Store: o.Store, Warnings: o.Warnings}
	for _, name := range slices.Sorted(maps.Keys(o.Namespaces)) {
		n := o.Namespaces[name]
		out.Namespaces = append(out.Namespaces, &oncewardv1.NamespaceOverview{
			Namespace:            name,
			InProgress:           n.InProgress,
			Expired:              n.Expired,
			Parked:               n.Parked,
			NeedsReconcile:       n.NeedsReconcile,
			OldestInProgress:     since(n.OldestInProgress),
			OldestNeedsReconcile: since(n.OldestNeedsReconcile),
		})
	}
	return out, nil
}

// since is the age of an instant, for people: the process's own clock will do.
func since(t time.Time) *durationpb.Duration {
	if t.IsZero() {
		return nil
	}
	return durationpb.New(max(0, time.Since(t)))
}

func page(in interface {
	GetPageSize() int32
	GetPageToken() string
}) onceward.Page {
	return onceward.Page{Size: int(in.GetPageSize()), Token: in.GetPageToken()}
}
