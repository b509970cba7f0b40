package redisstore

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Ping asks every primary for a sign of life.
func (s *Store) Ping(ctx context.Context) error {
	return s.eachPrimary(ctx, func(ctx context.Context, c *redis.Client) error { return c.Ping(ctx).Err() })
}

// EvictionPolicy is what the primaries do when their memory is full. If one of
// them does anything but noeviction, that is the answer.
func (s *Store) EvictionPolicy(ctx context.Context) (string, error) {
	var mu sync.Mutex
	found := "noeviction"
	err := s.eachPrimary(ctx, func(ctx context.Context, c *redis.Client) error {
		info, err := c.Info(ctx, "memory").Result()
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if policy := infoField(info, "maxmemory_policy"); policy != "noeviction" {
			found = policy
		}
		return nil
	})
	return found, err
}

// Describe names the store for people: "redis 7.0.15 cluster".
func (s *Store) Describe(ctx context.Context) (string, error) {
	var mu sync.Mutex
	version, mode := "", ""
	err := s.eachPrimary(ctx, func(ctx context.Context, c *redis.Client) error {
		info, err := c.Info(ctx, "server").Result()
		mu.Lock()
		defer mu.Unlock()
		version, mode = infoField(info, "redis_version"), infoField(info, "redis_mode")
		return err
	})
	return fmt.Sprintf("redis %s %s", version, mode), err
}

func (s *Store) eachPrimary(ctx context.Context, f func(context.Context, *redis.Client) error) error {
	switch c := s.client.(type) {
	case *redis.ClusterClient:
		return c.ForEachMaster(ctx, f)
	case *redis.Client:
		return f(ctx, c)
	}
	return fmt.Errorf("no primaries of a %T", s.client)
}

func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
