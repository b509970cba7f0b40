package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/onceward/onceward/bench/load"
	"github.com/onceward/onceward/bench/procs"
)

// scenario is one way to use a target.
type scenario struct {
	name    string
	on      string // the target
	callers int
	loop    loop
	start   start
}

// loop is how calls follow each other; warm is what the warm-up came to.
type loop func(ctx context.Context, callers int, d time.Duration, warm *load.Result, call load.Call) (*load.Result, error)

func closed(ctx context.Context, callers int, d time.Duration, _ *load.Result, call load.Call) (*load.Result, error) {
	return load.Closed(ctx, callers, d, call)
}

// halfRate is an open loop that leaves the service time.
func halfRate(ctx context.Context, callers int, d time.Duration, warm *load.Result, call load.Call) (*load.Result, error) {
	return load.Open(ctx, callers, warm.PerSecond()/2, d, call)
}

// The targets are: redis, the shipped server on a real Redis; embedded, the same
// with its embedded store; bare and naive, see children.go. echo is a health check
// of the shipped server, a call that does nothing in the same process, behind the
// same interceptors.
var scenarios = []scenario{
	{"echo", "redis", 64, closed, echo},
	{"bare", "bare", 64, closed, echo},
	{"naive", "naive", 64, closed, claim},
	{"claim", "redis", 64, closed, claim},
	{"duplicate", "redis", 64, closed, duplicates(10_000)},
	{"storm", "redis", 64, closed, duplicates(8)},
	{"pair", "redis", 64, closed, pair},
	{"apply", "redis", 64, closed, apply},
	{"ordered pair", "redis", 64, closed, orderedPair},
	{"batch100", "redis", 8, closed, batch(100)},
	{"batch1000", "redis", 4, closed, batch(1000)},
	{"stream", "redis", streamCallers, closed, stream},
	{"echo@16", "redis", 16, closed, echo},
	{"claim@16", "redis", 16, closed, claim},
	{"claim at half rate", "redis", 64, halfRate, claim},
	{"claim/embedded", "embedded", 64, closed, claim},
	{"duplicate/embedded", "embedded", 64, closed, duplicates(10_000)},
	{"batch100/embedded", "embedded", 8, closed, batch(100)},
}

// sample is one round of a scenario.
type sample struct {
	PerSecond                         float64
	P50, P99, P999                    time.Duration
	ServiceCPU, RedisCPU, OwnCPU, CPU float64 // microseconds a decision; CPU: service and Redis
}

// series is a scenario in all rounds.
type series struct {
	Name    string
	Samples []sample
}

// runRounds runs every scenario once a round, each round starting with another
// one, so that what disturbs the machine for a while disturbs them all.
func runRounds(ctx context.Context, h *house, o options) (r report, err error) {
	targets, err := h.targets()
	if err != nil {
		return r, err
	}
	r.Rounds = o.rounds
	var wanted []scenario
	for _, s := range scenarios {
		if o.wants(&s) {
			wanted = append(wanted, s)
			r.Scenarios = append(r.Scenarios, series{Name: s.name})
		}
	}
	for round := range o.rounds {
		if targets["embedded"], err = h.onceward(true); err != nil { // cannot be flushed
			return r, err
		}
		for i := range wanted {
			n := (i + round*5) % len(wanted)
			fmt.Fprintf(os.Stderr, "\rround %d of %d: %-20s", round+1, o.rounds, wanted[n].name)
			s, err := measure(ctx, targets[wanted[n].on], &wanted[n], o)
			if err != nil {
				return r, fmt.Errorf("%s: %w", wanted[n].name, err)
			}
			r.Scenarios[n].Samples = append(r.Scenarios[n].Samples, s)
		}
		targets["embedded"].service.Stop()
	}
	fmt.Fprintf(os.Stderr, "\r%40s\r", "")
	printTable(os.Stdout, r.Scenarios)
	if o.only == "" {
		if err := redisAlone(h); err != nil {
			return r, err
		}
		r.Bounds = bounds(r.Scenarios)
	}
	return r, nil
}

func (h *house) targets() (map[string]*target, error) {
	shipped, err := h.onceward(false)
	if err != nil {
		return nil, err
	}
	bare, err := h.child("bare", []string{"GOGC=400"}, nil)
	if err != nil {
		return nil, err
	}
	r, err := h.redis()
	if err != nil {
		return nil, err
	}
	naive, err := h.child("naive", nil, r)
	return map[string]*target{"redis": shipped, "bare": bare, "naive": naive}, err
}

func measure(ctx context.Context, t *target, s *scenario, o options) (out sample, err error) {
	if err := t.flush(); err != nil {
		return out, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	call, err := s.start(ctx, t)
	if err != nil {
		return out, err
	}
	warm, err := load.Closed(ctx, s.callers, o.warmup, call)
	if err != nil {
		return out, err
	}
	before := t.cpu()
	r, err := s.loop(ctx, s.callers, o.duration, warm, call)
	if err != nil {
		return out, err
	}
	after := t.cpu()
	each := func(i int) float64 { return float64((after[i] - before[i]).Microseconds()) / float64(r.Decisions) }
	return sample{
		PerSecond: r.PerSecond(), P50: r.Percentile(50), P99: r.Percentile(99), P999: r.Percentile(99.9),
		ServiceCPU: each(0), RedisCPU: each(1), OwnCPU: each(2), CPU: each(0) + each(1),
	}, nil
}

// cpu is what the service, its Redis and this process have used.
func (t *target) cpu() (used [3]time.Duration) {
	used[0], used[2] = t.service.CPU(), procs.CPU(os.Getpid())
	if t.redis != nil {
		used[1] = t.redis.CPU()
	}
	return used
}
