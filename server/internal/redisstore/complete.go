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

var complete = newClaimScript("complete", settlementLua, completeLua)

// Complete implements onceward.Store.
func (s *Store) Complete(ctx context.Context, q *onceward.CompleteRequest) (onceward.Settlement, error) {
	k := s.keys.claim(q.ClaimID)
	c := k.call(complete)
	state, keep := onceward.Completed, q.Policy.ResultRetention
	if q.Failed {
		state = onceward.Failed
	}
	if q.ResultRetention.Set {
		keep = q.ResultRetention.Value
	}
	p := newPacker()
	p.text8(k.name)
	p.token(q.Token)
	p.byte(int(state))
	p.millis(q.Retention.Value)
	p.millis(q.Policy.Retention)
	p.millis(keep)
	p.bool(q.ResultRetention.Set)
	p.bool(q.HasResult())
	p.text8(q.ResultType)
	p.text32(string(q.Result))
	p.subject(q.Policy, q.ClaimID)
	p.audit(q.Policy)
	c.args = k.order([]any{p.bytes}, &q.Policy.Ordering)
	r, err := s.run(ctx, c, q.Policy.MinReplicas)
	if err != nil {
		return onceward.Settlement{}, resultOutlives(err)
	}
	v := onceward.Settlement{Outcome: r.settleOutcome(), State: r.state(), Late: r.bool(), Recreated: r.bool()}
	now, left := r.unixMicros(), r.millis()
	if v.Outcome != onceward.Lost {
		v.RetainedUntil = now.Add(left)
	}
	e := r.entity().Entity
	if k.entity != nil {
		v.Entity = &e
	}
	return v, r.end()
}

// order adds what the scripts that finish a claim need of its entity, if it has
// one.
func (k *claimKeys) order(args []any, o *onceward.Ordering) []any {
	if k.entity == nil {
		return args
	}
	p := newPacker()
	p.millis(o.Retention)
	p.text8(k.entity.name)
	p.rules(o, "")
	return append(args, p.bytes)
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

func (r *reply) settleOutcome() onceward.SettleOutcome {
	return onceward.SettleOutcome(r.enum(int64(onceward.OK), int64(onceward.Lost)))
}
