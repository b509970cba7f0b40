package redisstore_test

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/onceward/onceward/server/internal/onceward"
	"github.com/onceward/onceward/server/internal/redisstore"
	"github.com/onceward/onceward/server/internal/redistest"
)

// BenchmarkCheckAndClaim is 64 callers with keys of their own, on a real Redis:
// new keys, and keys of finished claims. Its allocations are those of the store
// and the driver.
func BenchmarkCheckAndClaim(b *testing.B) {
	server := redistest.Start(b).Client()
	l := lane{mode: redisstore.Standalone, url: "redis://" + server.Options().Addr}
	s, _ := l.open(b)
	finished := make([]string, 10_000)
	for i := range finished {
		finished[i] = rand.Text()
		v := claim(b, s, finished[i], onceward.Claimed)
		_, err := s.Complete(context.Background(), &onceward.CompleteRequest{
			ClaimID: onceward.ClaimID{Namespace: "bench", Key: finished[i]}, Token: v.Token, Policy: &benchPolicy,
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	var next atomic.Int64
	for _, bench := range []struct {
		name string
		key  func() string
		want onceward.ClaimOutcome
	}{
		{"fresh", rand.Text, onceward.Claimed},
		{"duplicate", func() string { return finished[int(next.Add(1))%len(finished)] }, onceward.Duplicate},
	} {
		b.Run(bench.name, func(b *testing.B) {
			before := redisCPU(b, server)
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					claim(b, s, bench.key(), bench.want)
				}
			})
			b.ReportMetric((redisCPU(b, server)-before)/float64(b.N)*1e6, "redis-us/op")
		})
	}
}

var benchPolicy = onceward.DefaultPolicy()

func claim(b *testing.B, s *redisstore.Store, key string, want onceward.ClaimOutcome) onceward.ClaimVerdict {
	v, err := s.CheckAndClaim(context.Background(), &onceward.CheckAndClaimRequest{
		ClaimID:   onceward.ClaimID{Namespace: "bench", Key: key},
		RequestID: "request",
		Lease:     onceward.Of(time.Minute),
		Retention: onceward.Of(time.Hour),
		Policy:    &benchPolicy,
	})
	if err != nil || v.Outcome != want {
		b.Errorf("%s, %v", v.Outcome, err)
	}
	return v
}

// redisCPU is the processor time that a Redis has used, in seconds.
func redisCPU(b *testing.B, c *redis.Client) (total float64) {
	info, err := c.Info(context.Background(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(info) {
		for _, field := range []string{"used_cpu_user:", "used_cpu_sys:"} {
			if v, ok := strings.CutPrefix(line, field); ok {
				seconds, _ := strconv.ParseFloat(strings.TrimSpace(v), 64)
				total += seconds
			}
		}
	}
	return total
}
