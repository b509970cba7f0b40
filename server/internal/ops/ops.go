// Package ops is what an operator and a cluster ask of the process: whether it
// lives, and whether it can serve.
package ops

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

const (
	askEvery     = 500 * time.Millisecond
	askTimeout   = time.Second
	inspectEvery = 10 * time.Second

	// damping is how long the store must be in trouble before the service says
	// so: a short trouble must not take every instance out at once.
	damping = 2 * time.Second
)

// Store is what readiness asks about the store.
type Store interface {
	// Ping is an error if the store cannot be asked.
	Ping(ctx context.Context) error

	// EvictionPolicy is what the store does when its memory is full:
	// "noeviction", or a policy that throws records away.
	EvictionPolicy(ctx context.Context) (string, error)
}

// Readiness follows the store. It starts as not ready, becomes ready with the
// store's first sign of life, and turns back after two seconds without one.
type Readiness struct {
	store         Store // nil: always ready
	allowEviction bool
	log           *slog.Logger
	changed       func(ready bool)

	mu       sync.Mutex
	ready    bool
	why      string
	draining bool
}

// NewReadiness watches store, which is nil for the embedded one. changed is told
// of every change, from Watch.
func NewReadiness(store Store, allowEviction bool, log *slog.Logger, changed func(ready bool)) *Readiness {
	return &Readiness{store: store, allowEviction: allowEviction, log: log, changed: changed, why: "starting"}
}

// Watch follows the store until ctx ends.
func (r *Readiness) Watch(ctx context.Context) {
	if r.store == nil {
		r.set(nil)
		return
	}
	var evicts error
	var lastGood, lastInspected time.Time
	for tick := time.NewTicker(askEvery); ; {
		err := r.ask(ctx, r.store.Ping)
		if err == nil && time.Since(lastInspected) > inspectEvery {
			evicts, lastInspected = r.inspect(ctx), time.Now()
		}
		if err == nil {
			lastGood = time.Now()
			r.set(evicts)
		} else if ctx.Err() == nil && time.Since(lastGood) > damping {
			r.set(fmt.Errorf("the store cannot be asked"))
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

func (r *Readiness) ask(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return f(ctx)
}

// inspect is an error if the store may evict records and nobody allowed it:
// locks and marks would vanish without a word. A store that does not tell is
// believed, with a warning.
func (r *Readiness) inspect(ctx context.Context) error {
	var policy string
	err := r.ask(ctx, func(ctx context.Context) (err error) {
		policy, err = r.store.EvictionPolicy(ctx)
		return err
	})
	switch {
	case err != nil:
		r.log.WarnContext(ctx, "cannot see whether the store evicts records", "error", err)
	case policy != "noeviction":
		r.log.WarnContext(ctx, "the store may evict records: set maxmemory-policy to noeviction", "policy", policy, "allowed", r.allowEviction)
		if !r.allowEviction {
			return fmt.Errorf("the store may evict records: its maxmemory-policy is %s", policy)
		}
	}
	return nil
}

// Drain makes the service not ready for good.
func (r *Readiness) Drain() {
	r.mu.Lock()
	r.draining = true
	r.mu.Unlock()
	r.set(fmt.Errorf("draining"))
}

func (r *Readiness) set(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		err = fmt.Errorf("draining")
	}
	was := r.ready
	r.ready, r.why = err == nil, ""
	if err != nil {
		r.why = err.Error()
	}
	if was != r.ready {
		r.log.Info("readiness changed", "ready", r.ready, "why", r.why)
		r.changed(r.ready)
	}
}

// Handler serves /healthz, which says that the process lives whatever the store
// does, /readyz, which says whether it can serve, and /metrics.
func Handler(r *Readiness, m *Metrics) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		r.mu.Lock()
		ready, why := r.ready, r.why
		r.mu.Unlock()
		if !ready {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	return mux
}
