package main

import (
	"context"
	"fmt"

	"github.com/onceward/onceward/bench/procs"
)

// redisServer is a redis-server of our own, whose memory is measured.
type redisServer struct{ *procs.Redis }

// costOf flushes the store, fills it with n keys and gives the bytes that each
// costs.
func (r *redisServer) costOf(ctx context.Context, n int, fill func(progress) error, name string) (float64, error) {
	if err := r.Client.FlushAll(ctx).Err(); err != nil {
		return 0, err
	}
	before, err := r.UsedMemory(ctx)
	if err != nil {
		return 0, err
	}
	if err := fill(report(name, n)); err != nil {
		return 0, err
	}
	after, err := r.UsedMemory(ctx)
	if err != nil {
		return 0, err
	}
	size, err := r.Client.DBSize(ctx).Result()
	switch beside := size - int64(n); {
	case err != nil:
	case beside < 0:
		err = fmt.Errorf("%s: %d keys in the store, want %d", name, size, n)
	case beside > 0: // a call that had to be repeated stands in the decision log
		fmt.Printf("(%d keys beside those of: %s)\n", beside, name)
	}
	return float64(after-before) / float64(n), err
}

// fillPlain writes what a dedup by hand writes.
func (r *redisServer) fillPlain(ctx context.Context, n int, p progress) error {
	const batch = 1000
	for i := 0; i < n; i += batch {
		pipe := r.Client.Pipeline()
		for j := i; j < min(i+batch, n); j++ {
			pipe.Set(ctx, hexKey(j), "1", retention)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		p(min(i+batch, n))
	}
	return nil
}
