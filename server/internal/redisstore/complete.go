package redisstore

import (
	"context"
	_ "embed"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/onceward/onceward/server/internal/onceward"
)

//go:embed complete.lua
var completeLua string

var complete = newScript("complete", 7, completeLua, decisionLogLua, claimRecordLua, entityRecordLua)

// Complete implements onceward.Store.
func (s *Store) Complete(ctx context.Context, q *onceward.CompleteRequest) (onceward.Settlement, error) {
	k := s.keys.claim(q.ClaimID)
	keys := []string{k.record, k.result, k.progress, k.parked, k.log}
	state, keep := onceward.Completed, q.Policy.ResultRetention
	if q.Failed {
		state = onceward.Failed
	}
	if q.ResultRetention.Set {
		keep = q.ResultRetention.Value
	}
	args := []any{
		k.name, q.Token, int(state), onceward.Millis(q.Retention.Value), onceward.Millis(q.Policy.Retention),
		onceward.Millis(keep), q.ResultRetention.Set, q.HasResult(), q.ResultType, q.Result,
	}
	args = append(append(args, subject(q.Policy, q.ClaimID)...), string(q.Policy.Audit))
	if e := k.entity; e != nil {
		keys = append(keys, e.record, e.hold, e.flagged)
		args = append(append(args, rules(&q.Policy.Ordering, "")...), onceward.Millis(q.Policy.Ordering.Retention), e.name)
	}
	r, err := s.write(ctx, q.Policy, complete, keys, args...)
	if err != nil {
		return onceward.Settlement{}, resultOutlives(err)
	}
	v := onceward.Settlement{Outcome: r.settleOutcome(0), State: r.state(1), Late: r.bool(2), Recreated: r.bool(3)}
	if v.Outcome != onceward.Lost {
		v.RetainedUntil = r.unixMicros(4).Add(r.millis(5))
	}
	if k.entity != nil {
		e := r.entity(6).Entity
		v.Entity = &e
	}
	return v, r.err
}

// resultOutlives recognises the script's refusal of a result retention.
func resultOutlives(err error) error {
	var said redis.Error
	if errors.As(err, &said) {
		if ms, ok := strings.CutPrefix(said.Error(), "RESULT_RETENTION "); ok {
			if n, bad := strconv.ParseInt(ms, 10, 64); bad == nil {
				return onceward.ResultOutlives(time.Duration(n) * time.Millisecond)
			}
		}
	}
	return err
}

func (r *reply) settleOutcome(i int) onceward.SettleOutcome {
	return onceward.SettleOutcome(r.enum(i, int64(onceward.OK), int64(onceward.Lost)))
}

func (r *reply) state(i int) onceward.State {
	return onceward.State(r.enum(i, int64(onceward.Absent), int64(onceward.Expired)))
}
