package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed reconcile_entity.lua
var reconcileEntityLua string

var reconcileEntity = newScript("reconcile_entity", 2, reconcileEntityLua, decisionLogLua, claimRecordLua, entityRecordLua)

// ReconcileEntity implements onceward.Store.
func (s *Store) ReconcileEntity(ctx context.Context, q *onceward.ReconcileEntityRequest) (onceward.ApplyOutcome, onceward.Entity, error) {
	k := s.keys.entity(q.EntityID)
	args := []any{k.name, q.Version.Encode(), q.Event.ID, q.Event.State, onceward.Millis(q.Policy.Ordering.Retention), q.AllowBackwards}
	args = append(append(args, entityNames(q.Policy, q.EntityID)...), q.Actor, q.Act.Reason)
	r, err := s.write(ctx, q.Policy, reconcileEntity, []string{k.record, k.flagged, k.log}, args...)
	if err != nil {
		return 0, onceward.Entity{}, err
	}
	outcome := onceward.ApplyOutcome(r.enum(0, int64(onceward.Applied), int64(onceward.Stale)))
	e := r.entity(1).Entity
	return outcome, e, r.err
}
