package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/onceward/onceward/bench/load"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// size is a server whose Redis already remembers some finished claims.
type size struct {
	Keys        int
	BytesPerKey float64
	P50         spread // of fresh claims, in milliseconds
	ToSmallest  spread // the same, relative to the first size in the same round
	target      *target
	p50         []float64
}

// keyCallers is how many ask at once: enough to meet, too few to saturate.
const keyCallers = 16

// runKeys measures fresh claims in stores of several sizes, all alive at once and
// in turns.
func runKeys(ctx context.Context, h *house, o options) (r report, err error) {
	var sizes []*size
	for text := range strings.SplitSeq(o.sizes, ",") {
		s := &size{}
		if s.Keys, err = strconv.Atoi(text); err != nil {
			return r, fmt.Errorf("-sizes: %w", err)
		}
		if err := s.open(ctx, h); err != nil {
			return r, err
		}
		sizes = append(sizes, s)
	}
	for round := range o.rounds {
		for i := range sizes {
			s := sizes[(i+round)%len(sizes)]
			call := passing(s.target)
			if _, err := load.Closed(ctx, keyCallers, o.warmup, call); err != nil {
				return r, err
			}
			result, err := load.Closed(ctx, keyCallers, o.duration, call)
			if err != nil {
				return r, err
			}
			s.p50 = append(s.p50, 1000*result.Percentile(50).Seconds())
		}
	}
	r.Rounds, r.Stage = o.rounds, sizes
	for _, s := range sizes {
		var relative []float64
		for round := range s.p50 {
			relative = append(relative, s.p50[round]/sizes[0].p50[round])
		}
		s.P50, s.ToSmallest = spreadOf(s.p50), spreadOf(relative)
		fmt.Printf("%9d keys: %.1f bytes a key, p50 of a fresh claim %.3f ms\n", s.Keys, s.BytesPerKey, s.P50.Median)
		r.Bounds = append(r.Bounds, atMost(fmt.Sprintf("p50 at %d keys to p50 at %d", s.Keys, sizes[0].Keys), 1.15, s.ToSmallest))
	}
	return r, nil
}

// passing claims fresh keys that are forgotten a second later, so that the stores
// keep their sizes.
func passing(t *target) load.Call {
	return func(ctx context.Context, caller int) (int, error) {
		q := request(newKey())
		q.Lease, q.Retention = durationpb.New(50*time.Millisecond), durationpb.New(time.Second)
		r, err := t.client(caller).CheckAndClaim(ctx, q)
		return 1, expect(r.GetOutcome(), claimed, err)
	}
}

// open starts a server and fills its Redis.
func (s *size) open(ctx context.Context, h *house) (err error) {
	if s.target, err = h.onceward(false); err != nil {
		return err
	}
	before, err := s.target.redis.UsedMemory(ctx)
	if err != nil {
		return err
	}
	for n := 0; n < s.Keys; n += largestBatch {
		fmt.Fprintf(os.Stderr, "\rfilling: %d of %d ", n, s.Keys)
		if _, err := s.target.batch(ctx, 0, finals(min(largestBatch, s.Keys-n))); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "\r%40s\r", "")
	after, err := s.target.redis.UsedMemory(ctx)
	s.BytesPerKey = float64(after-before) / float64(s.Keys)
	return err
}

// finals are claims that are finished at once.
func finals(n int) []*oncewardv1.Operation {
	return claims(n, func(q *oncewardv1.CheckAndClaimRequest) { q.Final, q.Retention = true, durationpb.New(24*time.Hour) })
}
