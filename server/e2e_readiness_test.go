package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/redistest"
)

const (
	serving    = healthpb.HealthCheckResponse_SERVING
	notServing = healthpb.HealthCheckResponse_NOT_SERVING
)

func TestAStoreThatEvictsMakesTheServiceNotReady(t *testing.T) {
	t.Parallel() // mostly waits
	r := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")

	refused := launch(t, on(r))
	redistest.Eventually(t, "the store has been inspected", func() error {
		for _, line := range refused.lines() {
			if line["policy"] == "allkeys-lru" {
				return nil
			}
		}
		return fmt.Errorf("no warning of the policy in the log")
	})
	refused.wantReady(t, http.StatusServiceUnavailable, notServing)

	allowed := startServer(t, on(r), "ONCEWARD_ALLOW_EVICTION=true")
	allowed.wantReady(t, http.StatusOK, serving)
	refused.wantReady(t, http.StatusServiceUnavailable, notServing)

	r.Do("CONFIG", "SET", "maxmemory-policy", "noeviction")
	refused.waitReady(t, http.StatusOK, serving)
}

func TestReadinessFollowsRedisAndLivenessDoesNot(t *testing.T) {
	t.Parallel() // mostly waits
	r := redistest.Start(t)
	p := startServer(t, on(r))
	p.wantReady(t, http.StatusOK, serving)
	for range 2 {
		r.Kill()
		p.waitReady(t, http.StatusServiceUnavailable, notServing)
		p.wantAlive(t)
		r.Run()
		p.waitReady(t, http.StatusOK, serving)
		p.wantAlive(t)
	}
}

func TestWithoutRedisAtItsStartTheServiceWaitsForIt(t *testing.T) {
	t.Parallel() // mostly waits
	r := redistest.Start(t)
	r.Kill()
	p := launch(t, on(r))
	p.wantAlive(t)
	p.wantReady(t, http.StatusServiceUnavailable, notServing)
	r.Run()
	p.waitReady(t, http.StatusOK, serving)
	p.hold(attempt("after the start"))
}

func TestAShortPauseOfRedisDoesNotFlipReadiness(t *testing.T) {
	t.Parallel() // mostly waits
	r := redistest.Start(t)
	p := startServer(t, on(r))
	for range 10 {
		begin := time.Now()
		r.Pause()
		time.Sleep(1200 * time.Millisecond)
		r.Resume()
		if time.Since(begin) < 1500*time.Millisecond {
			time.Sleep(2 * time.Second) // whatever the pause does, it has done by now
			p.wantReady(t, http.StatusOK, serving)
			if n := p.readinessChanges(); n != 1 {
				t.Errorf("readiness changed %d times, want once, at the start", n)
			}
			return
		}
		p.waitReady(t, http.StatusOK, serving)
		p = startServer(t, on(r)) // the machine made it a long pause: try again
	}
	t.Fatal("the machine is too busy to pause Redis for a short time only")
}

func (p *process) readinessChanges() (n int) {
	for _, line := range p.lines() {
		if line["msg"] == "readiness changed" {
			n++
		}
	}
	return n
}

func (p *process) wantAlive(t *testing.T) {
	t.Helper()
	if code, err := p.get("/healthz"); err != nil || code != http.StatusOK {
		t.Errorf("/healthz: %d, %v, want 200", code, err)
	}
}

func (p *process) wantReady(t *testing.T, code int, health healthpb.HealthCheckResponse_ServingStatus) {
	t.Helper()
	if err := p.ready(code, health); err != nil {
		t.Error(err)
	}
}

func (p *process) waitReady(t *testing.T, code int, health healthpb.HealthCheckResponse_ServingStatus) {
	t.Helper()
	redistest.Eventually(t, "readiness", func() error { return p.ready(code, health) })
}

// ready compares what HTTP and what gRPC say, for the process and each service.
func (p *process) ready(code int, health healthpb.HealthCheckResponse_ServingStatus) error {
	gotCode, err := p.get("/readyz")
	if err != nil {
		return err
	}
	for _, service := range []string{"", oncewardv1.OncewardService_ServiceDesc.ServiceName, oncewardv1.AdminService_ServiceDesc.ServiceName} {
		gotHealth, err := p.health(service)
		if err != nil {
			return err
		}
		if gotCode != code || gotHealth != health {
			return fmt.Errorf("/readyz is %d and health of %q %s, want %d and %s", gotCode, service, gotHealth, code, health)
		}
	}
	return nil
}

// What reads a JSON log stops at the first line that is none.
func TestTheLogIsJSONWhateverHappensToRedis(t *testing.T) {
	t.Parallel() // mostly waits
	s := startLossy(t, "ONCEWARD_LOG_LEVEL=debug")
	s.hold(attempt("before"))
	s.redis.Kill()
	for _, c := range s.everyVerb("before", 1) {
		c.do()
	}
	s.waitReady(t, http.StatusServiceUnavailable, notServing)
	s.redis.Run()
	s.waitReady(t, http.StatusOK, serving)
	s.terminate()
	s.wait(30 * time.Second)
	for line := range strings.Lines(s.log.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}
