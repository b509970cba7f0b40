package redisstore

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed apply_if_newer.lua
var applyIfNewerLua string

var applyIfNewer = newScript("apply_if_newer", 7, applyIfNewerLua, decisionLogLua, claimRecordLua, entityRecordLua)

// ApplyIfNewer implements onceward.Store.
func (s *Store) ApplyIfNewer(ctx context.Context, q *onceward.ApplyIfNewerRequest) (onceward.ApplyVerdict, error) {
	k := s.keys.entity(q.EntityID)
	args := []any{
		k.name, requestHash(q.RequestID)[:8], // what is compared with it is one entity's last request
		q.Version.Encode(), q.Event.ID, q.Event.State, onceward.Millis(q.Retention.Value),
	}
	args = append(append(args, rules(&q.Policy.Ordering, q.Event.State)...), entityNames(q.Policy, q.EntityID)...)
	r, err := s.write(ctx, q.Policy, applyIfNewer, []string{k.record, k.hold, k.flagged, k.log}, append(args, string(q.Policy.Audit))...)
	if err != nil {
		return onceward.ApplyVerdict{}, err
	}
	v := onceward.ApplyVerdict{
		Outcome:    onceward.ApplyOutcome(r.enum(0, int64(onceward.Applied), int64(onceward.Future))),
		Previous:   r.version(1),
		FirstSeen:  r.bool(2),
		Reentrant:  r.bool(3),
		FillsGap:   r.bool(4),
		RetryAfter: r.millis(5),
		Current:    r.entity(6).Entity,
	}
	return v, r.err
}

// entityNames is what the log, and a flagged record, show of an entity.
func entityNames(p *onceward.Policy, id onceward.EntityID) []any {
	return []any{id.Namespace, id.Consumer, p.Readable(id.Entity)}
}

func (r *reply) version(i int) onceward.Version {
	v, err := onceward.DecodeVersion(r.str(i))
	if err != nil && r.err == nil {
		r.err = onceward.Unreadable(fmt.Errorf("%s: %w", r.script, err))
	}
	return v
}
