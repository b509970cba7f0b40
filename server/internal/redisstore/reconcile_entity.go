package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed reconcile_entity.lua
var reconcileEntityLua string

var reconcileEntity = newScript("reconcile_entity", decisionLogLua, claimRecordLua, entityRecordLua, reconcileEntityLua)

// ReconcileEntity implements onceward.Store.
func (s *Store) ReconcileEntity(ctx context.Context, q *onceward.ReconcileEntityRequest) (onceward.ApplyOutcome, onceward.Entity, error) {
	k := s.keys.entity(q.EntityID)
	p := newPacker()
	p.text8(k.name)
	p.text8(q.Version.Encode())
	p.text16(q.Event.ID)
	p.text8(q.Event.State)
	p.millis(q.Policy.Ordering.Retention)
	p.bool(q.AllowBackwards)
	p.entityNames(q.Policy, q.EntityID)
	p.text8(q.Actor)
	p.text16(q.Act.Reason)
	c := call{script: reconcileEntity, keys: []string{k.record, k.flagged, k.log}, args: []any{p.bytes}}
	r, err := s.run(ctx, c, q.Policy.MinReplicas)
	if err != nil {
		return 0, onceward.Entity{}, err
	}
	outcome := onceward.ApplyOutcome(r.enum(int64(onceward.Applied), int64(onceward.Stale)))
	e := r.entity().Entity
	return outcome, e, r.end()
}
