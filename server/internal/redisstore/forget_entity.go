package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed forget_entity.lua
var forgetEntityLua string

var forgetEntity = newScript("forget_entity", decisionLogLua, claimRecordLua, entityRecordLua, forgetEntityLua)

// ForgetEntity implements onceward.Store.
func (s *Store) ForgetEntity(ctx context.Context, q *onceward.ForgetEntityRequest) (onceward.Entity, error) {
	k := s.keys.entity(q.EntityID)
	p := newPacker()
	p.text8(k.name)
	p.entityNames(q.Policy, q.EntityID)
	p.text8(q.Actor)
	p.text16(q.Act.Reason)
	return s.entityNow(ctx, call{script: forgetEntity, keys: []string{k.record, k.flagged, k.log}, args: []any{p.bytes}}, q.Policy.MinReplicas)
}
