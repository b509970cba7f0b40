package redisstore_test

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/onceward/onceward/server/internal/onceward"
	"github.com/onceward/onceward/server/internal/redisstore"
	"github.com/onceward/onceward/server/internal/redistest"
)

// BenchmarkCheckAndClaim is 64 callers with keys of their own, on a real Redis.
// Its allocations are those of the store and the driver.
func BenchmarkCheckAndClaim(b *testing.B) {
	server := redistest.Start(b).Client()
	l := lane{mode: redisstore.Standalone, url: "redis://" + server.Options().Addr}
	s, _ := l.open(b)
	policy := onceward.DefaultPolicy()
	before := redisCPU(b, server)
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			q := onceward.CheckAndClaimRequest{
				ClaimID:   onceward.ClaimID{Namespace: "bench", Key: rand.Text()},
				RequestID: "request",
				Lease:     onceward.Of(time.Minute),
				Retention: onceward.Of(time.Hour),
				Policy:    &policy,
			}
			if v, err := s.CheckAndClaim(context.Background(), &q); err != nil || v.Outcome != onceward.Claimed {
				b.Error(v.Outcome, err)
			}
		}
	})
	b.ReportMetric((redisCPU(b, server)-before)/float64(b.N)*1e6, "redis-us/op")
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
