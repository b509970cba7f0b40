package redisstore

import (
	"context"
	_ "embed"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed apply_if_newer.lua
var applyIfNewerLua string

var applyIfNewer = newScript("apply_if_newer", decisionLogLua, claimRecordLua, entityRecordLua, applyIfNewerLua)

// ApplyIfNewer implements onceward.Store.
func (s *Store) ApplyIfNewer(ctx context.Context, q *onceward.ApplyIfNewerRequest) (onceward.ApplyVerdict, error) {
	k := s.keys.entity(q.EntityID)
	p := newPacker()
	p.text8(k.name)
	p.text8(requestHash(q.RequestID)[:8]) // what is compared with it is one entity's last request
	p.text8(q.Version.Encode())
	p.text16(q.Event.ID)
	p.text8(q.Event.State)
	p.millis(q.Retention.Value)
	p.entityNames(q.Policy, q.EntityID)
	p.audit(q.Policy)
	p.rules(&q.Policy.Ordering, q.Event.State)
	c := call{script: applyIfNewer, keys: []string{k.record, k.hold, k.flagged, k.log}, args: []any{p.bytes}}
	r, err := s.run(ctx, c, q.Policy.MinReplicas)
	if err != nil {
		return onceward.ApplyVerdict{}, err
	}
	v := onceward.ApplyVerdict{
		Outcome:    onceward.ApplyOutcome(r.enum(int64(onceward.Applied), int64(onceward.Future))),
		Previous:   r.version(),
		FirstSeen:  r.bool(),
		Reentrant:  r.bool(),
		FillsGap:   r.bool(),
		RetryAfter: r.millis(),
		Current:    r.entity().Entity,
	}
	return v, r.end()
}
