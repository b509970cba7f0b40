package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed forget_entity.lua
var forgetEntityLua string

var forgetEntity = newScript("forget_entity", 1, forgetEntityLua, decisionLogLua, claimRecordLua, entityRecordLua)

// ForgetEntity implements onceward.Store.
func (s *Store) ForgetEntity(ctx context.Context, q *onceward.ForgetEntityRequest) (onceward.Entity, error) {
	k := s.keys.entity(q.EntityID)
	args := append(append([]any{k.name}, entityNames(q.Policy, q.EntityID)...), q.Actor, q.Act.Reason)
	r, err := s.write(ctx, q.Policy, forgetEntity, []string{k.record, k.flagged, k.log}, args...)
	if err != nil {
		return onceward.Entity{}, err
	}
	was := r.entity(0).Entity
	return was, r.err
}
