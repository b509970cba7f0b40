package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/onceward/onceward/bench/load"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

const (
	soakKept    = 30 * time.Second // so that the store stays as it is
	soakCallers = 16
	idleLimit   = 30 << 20
)

// memory is what the soak saw of the service, in MiB.
type memory struct {
	Idle          float64
	Samples       []float64
	SecondQuarter float64
	LastQuarter   float64
	Calls         int64
}

// runSoak lets everything happen for a long time and looks whether memory grows.
func runSoak(ctx context.Context, h *house, o options) (r report, err error) {
	t, err := h.onceward(false)
	if err != nil {
		return r, err
	}
	idle, err := t.service.RSS()
	if err != nil {
		return r, err
	}
	m := &memory{Idle: mib(idle)}
	every := min(5*time.Second, o.soak/40)
	done := make(chan struct{})
	watched := make(chan error, 1)
	go func() {
		for {
			select {
			case <-done:
				watched <- nil
				return
			case <-time.After(every):
			}
			rss, err := t.service.RSS()
			if err != nil {
				watched <- err
				return
			}
			m.Samples = append(m.Samples, mib(rss))
			fmt.Fprintf(os.Stderr, "\r%.1f MiB ", mib(rss))
		}
	}()
	result, err := load.Closed(ctx, soakCallers, o.soak, mixed(t))
	close(done)
	if bad := <-watched; err == nil {
		err = bad
	}
	if err != nil {
		return r, err
	}
	quarter := len(m.Samples) / 4
	m.SecondQuarter, m.LastQuarter = mean(m.Samples[quarter:2*quarter]), mean(m.Samples[3*quarter:])
	m.Calls = result.Latency.TotalCount()
	fmt.Printf("\r%d calls in %s; idle %.1f MiB, second quarter %.1f, last %.1f\n", m.Calls, o.soak, m.Idle, m.SecondQuarter, m.LastQuarter)
	r.Stage = m
	r.Bounds = []bound{
		atMost("idle memory of the service, MiB,", mib(idleLimit), spreadOf([]float64{m.Idle})),
		atMost("memory in the last quarter to that in the second", 1.10, spreadOf([]float64{m.LastQuarter / m.SecondQuarter})),
	}
	return r, nil
}

// mixed is everything that clients do: pairs, duplicates, versions, batches, and
// calls that are given up.
func mixed(t *target) load.Call {
	versions, _ := apply(context.Background(), t)
	return func(ctx context.Context, caller int) (int, error) {
		q := request(newKey())
		q.Retention = durationpb.New(soakKept)
		switch n := rand.IntN(100); {
		case n < 40:
			return 1, claimAndComplete(ctx, t, caller, q)
		case n < 60:
			if err := claimAndComplete(ctx, t, caller, q); err != nil {
				return 0, err
			}
			again, err := t.client(caller).CheckAndClaim(ctx, request(q.GetKey()))
			return 1, expect(again.GetOutcome(), duplicate, err)
		case n < 75:
			return versions(ctx, caller)
		case n < 80:
			ops := claims(100, func(q *oncewardv1.CheckAndClaimRequest) {
				q.Retention, q.Lease = durationpb.New(soakKept), durationpb.New(soakKept)
			})
			_, err := t.batch(ctx, caller, ops)
			return len(ops), err
		}
		ctx, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(2000))*time.Microsecond)
		defer cancel()
		q.Lease = durationpb.New(soakKept)
		_, err := t.client(caller).CheckAndClaim(ctx, q)
		if code := status.Code(err); code != codes.OK && code != codes.DeadlineExceeded {
			return 0, err
		}
		return 1, nil
	}
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}
