package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/onceward/onceward/server/internal/onceward"
)

// script is one verb's Lua.
type script struct {
	name  string
	width int // elements of its reply
	lua   *redis.Script
}

// newScript makes a script that replies with width elements out of its own
// source and what must stand before it.
func newScript(name string, width int, source string, before ...string) *script {
	src := strings.Join(append(before, source), "\n")
	return &script{name: name, width: width, lua: redis.NewScript(src)}
}

// reply is what a script returned, decoded strictly: the first element that is
// not what it must be makes the whole reply an error.
type reply struct {
	script string
	values []any
	err    error
}

func (s *script) decode(res any) reply {
	values, ok := res.([]any)
	if !ok || len(values) != s.width {
		return reply{err: fmt.Errorf("%s: reply is %T of length %d, want %d elements", s.name, res, len(values), s.width)}
	}
	return reply{script: s.name, values: values}
}

func (r *reply) int(i int) int64 {
	n, ok := r.at(i).(int64)
	if !ok {
		r.fail(i, "integer")
	}
	return n
}

func (r *reply) str(i int) string {
	s, ok := r.at(i).(string)
	if !ok {
		r.fail(i, "string")
	}
	return s
}

func (r *reply) bool(i int) bool { return r.enum(i, 0, 1) == 1 }

// enum is an integer within bounds.
func (r *reply) enum(i int, least, most int64) int64 {
	n := r.int(i)
	if n < least || n > most {
		r.fail(i, fmt.Sprintf("integer from %d to %d", least, most))
		return least
	}
	return n
}

// unixMillis is an instant, or the zero Time for 0.
func (r *reply) unixMillis(i int) time.Time {
	if n := r.int(i); n != 0 {
		return time.UnixMilli(n)
	}
	return time.Time{}
}

func (r *reply) unixMicros(i int) time.Time { return time.UnixMicro(r.int(i)) }

func (r *reply) millis(i int) time.Duration { return time.Duration(r.int(i)) * time.Millisecond }

func (r *reply) at(i int) any {
	if r.err != nil {
		return nil
	}
	return r.values[i]
}

func (r *reply) fail(i int, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: element %d of the reply is %T, want %s", r.script, i+1, r.values[i], want)
	}
}

// run sends a script to the node that holds its keys: by its hash, and whole if
// that node has not seen it yet.
func (s *Store) run(ctx context.Context, sc *script, keys []string, args ...any) (reply, error) {
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	res, err := sc.lua.Run(bounded, s.client, keys, args...).Result()
	return sc.read(ctx, res, err)
}

// write is run for the verbs that change something. Where the policy asks for
// replicas, it answers only when they have confirmed the write.
func (s *Store) write(ctx context.Context, p *onceward.Policy, sc *script, keys []string, args ...any) (reply, error) {
	if p.MinReplicas == 0 {
		return s.run(ctx, sc, keys, args...)
	}
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	res, confirmed, err := s.runOnPrimary(bounded, sc, p.MinReplicas, keys, args...)
	for pause := 50 * time.Millisecond; s.movedAway(err) && wait(bounded, pause); pause *= 2 {
		res, confirmed, err = s.runOnPrimary(bounded, sc, p.MinReplicas, keys, args...)
	}
	rep, err := sc.read(ctx, res, err)
	if err == nil && confirmed < int64(p.MinReplicas) {
		return reply{}, notReplicated(confirmed, p.MinReplicas)
	}
	return rep, err
}

// movedAway tells whether an error may mean that another node is the key's
// primary now, and has the client look at the cluster anew, in the background:
// a pipeline to one node does not follow by itself.
func (s *Store) movedAway(err error) bool {
	c, isCluster := s.client.(*redis.ClusterClient)
	if err == nil || !isCluster || !elsewhere(err) {
		return false
	}
	c.ReloadState(context.Background())
	return true
}

func elsewhere(err error) bool {
	var said redis.Error
	if !errors.As(err, &said) {
		return true // the node itself is gone
	}
	for _, prefix := range []string{"MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "READONLY"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}

// wait lets d pass, unless ctx ends before.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *Store) runOnPrimary(ctx context.Context, sc *script, replicas int, keys []string, args ...any) (res any, confirmed int64, err error) {
	node, err := s.primary(ctx, keys[0])
	if err != nil {
		return nil, 0, err
	}
	return sc.runAndWait(ctx, node, replicas, keys, args...)
}

// runAndWait sends the script and WAIT in one pipeline, because WAIT speaks of
// the writes of its own connection.
func (sc *script) runAndWait(ctx context.Context, node *redis.Client, replicas int, keys []string, args ...any) (res any, confirmed int64, err error) {
	for _, send := range []func(context.Context, redis.Scripter, []string, ...any) *redis.Cmd{sc.lua.EvalSha, sc.lua.Eval} {
		pipe := node.Pipeline()
		cmd := send(ctx, pipe, keys, args...)
		wait := pipe.Do(ctx, "WAIT", replicas, waitTimeout.Milliseconds())
		_, err = pipe.Exec(ctx)
		if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			continue
		}
		if cmd.Err() != nil {
			err = cmd.Err() // WAIT's own failure is no news where the script failed
		}
		confirmed, _ = wait.Val().(int64)
		return cmd.Val(), confirmed, err
	}
	return nil, 0, err
}

func notReplicated(confirmed int64, asked int) error {
	return &onceward.Error{
		Reason:     onceward.ReasonReplication,
		Message:    "written, but not confirmed by as many replicas as the policy asks for; repeat with the same request_id or token",
		RetryAfter: time.Second,
		Cause:      fmt.Errorf("%d of %d replicas", confirmed, asked),
	}
}

// primary is the node that a key's writes go to.
func (s *Store) primary(ctx context.Context, key string) (*redis.Client, error) {
	switch c := s.client.(type) {
	case *redis.ClusterClient:
		return c.MasterForKey(ctx, key)
	case *redis.Client:
		return c, nil
	}
	return nil, fmt.Errorf("no primary for a %T", s.client)
}

// read decodes what a script returned, or says why it returned nothing.
func (sc *script) read(ctx context.Context, res any, err error) (reply, error) {
	if err != nil {
		return reply{}, failure(ctx, sc.name, err)
	}
	r := sc.decode(res)
	return r, r.err
}
