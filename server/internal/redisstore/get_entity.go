package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed get_entity.lua
var getEntityLua string

var getEntity = newScript("get_entity", 1, getEntityLua, decisionLogLua, claimRecordLua, entityRecordLua)

// GetEntity implements onceward.Store.
func (s *Store) GetEntity(ctx context.Context, q *onceward.GetEntityRequest) (onceward.Entity, error) {
	k := s.keys.entity(q.EntityID)
	r, err := s.run(ctx, getEntity, []string{k.record})
	if err != nil {
		return onceward.Entity{}, err
	}
	e := r.entity(0).Entity
	return e, r.err
}
