package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed release.lua
var releaseLua string

var release = newScript("release", 2, releaseLua, decisionLogLua, claimRecordLua, entityRecordLua)

// Release implements onceward.Store.
func (s *Store) Release(ctx context.Context, q *onceward.ReleaseRequest) (onceward.Settlement, error) {
	k := s.keys.claim(q.ClaimID)
	keys := []string{k.record, k.progress, k.parked, k.log}
	if k.entity != nil {
		keys = append(keys, k.entity.hold)
	}
	args := []any{k.name, q.Token, q.Reason, onceward.Millis(q.RetryAfter.Value), q.Park}
	args = append(append(args, subject(q.Policy, q.ClaimID)...), string(q.Policy.Audit))
	r, err := s.write(ctx, q.Policy, release, keys, args...)
	if err != nil {
		return onceward.Settlement{}, err
	}
	v := onceward.Settlement{Outcome: r.settleOutcome(0), State: r.state(1)}
	return v, r.err
}
