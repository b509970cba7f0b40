package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed get_entity.lua
var getEntityLua string

var getEntity = newScript("get_entity", claimRecordLua, entityRecordLua, getEntityLua)

// GetEntity implements onceward.Store.
func (s *Store) GetEntity(ctx context.Context, q *onceward.GetEntityRequest) (onceward.Entity, error) {
	k := s.keys.entity(q.EntityID)
	return s.entityNow(ctx, call{script: getEntity, keys: []string{k.record}}, 0)
}

// entityNow runs a script that replies with an entity.
func (s *Store) entityNow(ctx context.Context, c call, replicas int) (onceward.Entity, error) {
	r, err := s.run(ctx, c, replicas)
	if err != nil {
		return onceward.Entity{}, err
	}
	e := r.entity().Entity
	return e, r.end()
}
