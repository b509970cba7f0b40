package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed release.lua
var releaseLua string

var release = newScript("release", 2, claimRecordLua, releaseLua)

// Release implements onceward.Store.
func (s *Store) Release(ctx context.Context, q *onceward.ReleaseRequest) (onceward.Settlement, error) {
	k := s.keys.claim(q.ClaimID)
	r, err := s.write(ctx, q.Policy, release, []string{k.record, k.progress, k.parked},
		k.name, q.Token, q.Reason, onceward.Millis(q.RetryAfter.Value), q.Park)
	if err != nil {
		return onceward.Settlement{}, err
	}
	v := onceward.Settlement{Outcome: r.settleOutcome(0), State: r.state(1)}
	return v, r.err
}
