// Package load makes calls, closed loop or open loop, and keeps their latencies.
package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Call makes one call as caller n of many, and tells how many decisions it was.
type Call func(ctx context.Context, caller int) (decisions int, err error)

// Result is what a load came to.
type Result struct {
	Decisions int64
	Took      time.Duration
	Latency   *hdrhistogram.Histogram // in microseconds
}

// PerSecond is the rate of decisions.
func (r *Result) PerSecond() float64 { return float64(r.Decisions) / r.Took.Seconds() }

// Percentile is a latency; p from 0 to 100.
func (r *Result) Percentile(p float64) time.Duration {
	return time.Duration(r.Latency.ValueAtPercentile(p)) * time.Microsecond
}

// Closed lets callers call as fast as they are answered. The first error ends it.
func Closed(ctx context.Context, callers int, d time.Duration, call Call) (*Result, error) {
	end := time.Now().Add(d)
	return run(ctx, callers, func(record func(since time.Time, decisions int), failed func() bool, caller int) error {
		for start := time.Now(); start.Before(end) && !failed(); start = time.Now() {
			n, err := call(ctx, caller)
			if err != nil {
				return err
			}
			record(start, n)
		}
		return nil
	})
}

// Open starts calls at a fixed rate, whether earlier ones are answered or not.
// Their latency counts from when they should have started: a service that stalls
// must not be spared the calls that it kept waiting. callers bounds how many are
// under way.
func Open(ctx context.Context, callers int, perSecond float64, d time.Duration, call Call) (*Result, error) {
	start := time.Now()
	total := int64(perSecond * d.Seconds())
	var taken atomic.Int64
	return run(ctx, callers, func(record func(since time.Time, decisions int), failed func() bool, caller int) error {
		for n := taken.Add(1) - 1; n < total && !failed(); n = taken.Add(1) - 1 {
			due := start.Add(time.Duration(float64(n) / perSecond * float64(time.Second)))
			time.Sleep(time.Until(due))
			decisions, err := call(ctx, caller)
			if err != nil {
				return err
			}
			record(due, decisions)
		}
		return nil
	})
}

// run lets callers work, and joins what they recorded.
func run(ctx context.Context, callers int, work func(record func(time.Time, int), failed func() bool, caller int) error) (*Result, error) {
	start := time.Now()
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		stop  atomic.Bool
		first error
		total = &Result{Latency: histogram()}
	)
	for caller := range callers {
		wg.Go(func() {
			own, decisions := histogram(), int64(0)
			err := work(func(since time.Time, n int) {
				own.RecordValue(min(time.Since(since).Microseconds(), longest))
				decisions += int64(n)
			}, stop.Load, caller)
			mu.Lock()
			defer mu.Unlock()
			total.Latency.Merge(own)
			total.Decisions += decisions
			if err != nil && !stop.Swap(true) {
				first = err
			}
		})
	}
	wg.Wait()
	total.Took = time.Since(start)
	if first == nil {
		first = ctx.Err()
	}
	return total, first
}

// longest is the largest latency that is told apart, in microseconds.
const longest = 60_000_000

func histogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, longest, 3) }
