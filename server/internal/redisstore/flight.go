package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/onceward/onceward/server/internal/onceward"
)

var (
	errUnseen = errors.New("the node forgets every script that it is sent")
	errWaited = errors.New("the node answers too slowly")
)

// lane is where a flight travels: to a node, together with those that ask for as
// many replicas.
type lane struct {
	node     *redis.Client
	replicas int
}

// run sends a call to the node that holds its keys, together with whatever else
// goes there, and waits for its reply, or until ctx ends: it may then have been
// carried out. What it writes must be confirmed by that many replicas first.
func (s *Store) run(ctx context.Context, c call, replicas int) (reply, error) {
	f := s.start(ctx, c, replicas)
	return s.wait(ctx, f)
}

// start sends a call on its way.
func (s *Store) start(ctx context.Context, c call, replicas int) *flight {
	f := &flight{call: c, ctx: ctx, since: time.Now(), replicas: replicas, landed: make(chan struct{})}
	s.depart(f)
	return f
}

func (s *Store) depart(f *flight) {
	node, err := s.primary(f.ctx, f.keys[0])
	if err != nil {
		f.land("", err)
		return
	}
	if !s.pipelineTo(lane{node, f.replicas}).board(f) {
		f.land("", onceward.Overloaded())
	}
}

func (s *Store) wait(ctx context.Context, f *flight) (reply, error) {
	select {
	case <-f.landed:
	case <-ctx.Done():
		return reply{}, failure(ctx, f.script.name, ctx.Err())
	}
	if f.err != nil {
		return reply{}, failure(ctx, f.script.name, f.err)
	}
	return reply{script: f.script.name, reader: reader{left: f.reply}}, nil
}

// idleLanes is how many pipelines are kept when the nodes change.
const idleLanes = 64

func (s *Store) pipelineTo(l lane) *pipeline {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pipelines[l]
	if p == nil {
		if len(s.pipelines) >= idleLanes {
			clear(s.pipelines) // who travels on one keeps it
		}
		p = &pipeline{store: s, node: l.node, replicas: l.replicas, shared: map[string]*flight{}, length: 1}
		s.pipelines[l] = p
	}
	return p
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

// answered tells whether an error is Redis's own word.
func answered(err error) bool {
	var said redis.Error
	return errors.As(err, &said)
}

// refused tells whether an error is the answer to a call. Others mean that the
// node is gone, or that another one, or the same a little later, would answer.
func refused(err error) bool {
	if known := (*onceward.Error)(nil); errors.As(err, &known) {
		return true
	}
	for _, prefix := range []string{"MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "LOADING"} {
		if redis.HasErrorPrefix(err, prefix) {
			return false
		}
	}
	return answered(err)
}

// follow asks again, by itself, for what an exchange did not answer. The driver
// resends and, in a cluster, looks for the node that has the key now. WAIT only
// counts on the connection that wrote, so a flight that asks for replicas goes
// anew, to the node that has the key then.
func (s *Store) follow(f *flight, why error) {
	ctx, cancel := context.WithDeadline(f.ctx, f.since.Add(callTimeout))
	defer cancel()
	if f.replicas == 0 {
		res, err := f.script.lua.Run(ctx, s.client, f.keys, f.args...).Text()
		s.deliver(f, res, err)
		return
	}
	for pause := 50 * time.Millisecond; !refused(why) && pass(ctx, pause); pause *= 2 {
		if c, ok := s.client.(*redis.ClusterClient); ok {
			c.ReloadState(ctx)
		}
		var node *redis.Client
		if node, why = s.primary(ctx, f.keys[0]); why == nil {
			var res string
			if res, why = f.sendAlone(ctx, node); why == nil {
				s.deliver(f, res, nil)
				return
			}
		}
	}
	s.deliver(f, "", why)
}

// sendAlone sends a flight and WAIT, whole.
func (f *flight) sendAlone(ctx context.Context, node *redis.Client) (string, error) {
	cmd, waited := f.command(ctx, true), waitFor(ctx, f.replicas)
	sendAll(ctx, node, []redis.Cmder{cmd, waited})
	if cmd.Err() != nil {
		return "", cmd.Err() // WAIT's own failure is no news where the script failed
	}
	return cmd.Val(), confirmed(waited, f.replicas)
}

// pass lets d pass, unless ctx ends before.
func pass(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func notReplicated(confirmed int64, asked int) error {
	return &onceward.Error{
		Reason:     onceward.ReasonReplication,
		Message:    "written, but not confirmed by as many replicas as the policy asks for; repeat with the same request_id or token",
		RetryAfter: time.Second,
		Cause:      fmt.Errorf("%d of %d replicas", confirmed, asked),
	}
}
