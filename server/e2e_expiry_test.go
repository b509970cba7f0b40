package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/redistest"
)

func TestNoKeyEverStaysForever(t *testing.T) {
	t.Parallel() // mostly waits
	r := redistest.Start(t)
	p := startServer(t, on(r), withPolicies(t, strictPolicies))
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	var all sync.WaitGroup
	drive := &driver{p: p, tokens: map[subject]int64{}}
	for range 8 {
		all.Go(func() { drive.until(ctx) })
	}
	for seen := 0; ctx.Err() == nil; seen++ {
		if keys := r.Unexpiring(); len(keys) != 0 {
			t.Errorf("after %d looks, keys without a TTL: %q", seen, keys)
			break
		}
	}
	cancel()
	all.Wait()
	if keys := r.Unexpiring(); len(keys) != 0 {
		t.Errorf("at the end, keys without a TTL: %q", keys)
	}
	t.Logf("%d calls, %d keys left", drive.calls.Load(), r.Size())
}

func TestPastTheirRetentionClaimsLeaveNothing(t *testing.T) {
	for _, end := range []struct {
		name   string
		claims int
		finish func(p *process, key string, token int64)
	}{
		{"completed", 10000, func(p *process, key string, token int64) {
			p.complete(&oncewardv1.CompleteRequest{Namespace: namespace, Key: key, FencingToken: token})
		}},
		{"completed with a result", 2000, func(p *process, key string, token int64) { p.complete(completion(key, token)) }},
		{"abandoned in progress", 3000, func(*process, string, int64) {}},
		{"released", 2000, func(p *process, key string, token int64) { persist(p.t, release(key, token), p.Release) }},
		{"parked", 3000, func(p *process, key string, token int64) { persist(p.t, park(key, token), p.Release) }},
	} {
		t.Run(end.name, func(t *testing.T) {
			t.Parallel() // mostly waits
			r := redistest.Start(t)
			// A repeat on a busy machine is an exception, which the log keeps for a week.
			p := startServer(t, on(r), withPolicies(t, "defaults: {audit: off}"))
			spread(end.claims, 32, func(i int) {
				key := fmt.Sprintf("claim-%d", i)
				v := p.hold(attempt(key, lease(500*time.Millisecond), retention(time.Second)))
				end.finish(p, key, v.GetFencingToken())
			})
			waitEmpty(t, r)
		})
	}
}

func waitEmpty(t *testing.T, r *redistest.Server) {
	t.Helper()
	begin := time.Now()
	for r.Size() > 0 {
		if time.Since(begin) > time.Minute {
			t.Fatalf("%d keys left, such as %.5q", r.Size(), r.Keys(""))
		}
		time.Sleep(50 * time.Millisecond)
	}
}
