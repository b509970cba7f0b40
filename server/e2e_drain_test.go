package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/redistest"
)

// patientDriver gives the driver a connection for every call and more time than
// usual, so that replies can be held back while the test looks around.
const patientDriver = "?pool_size=200&read_timeout=1200ms"

func TestSIGTERMLetsCallsInFlightFinish(t *testing.T) {
	for name, listen := range map[string]string{
		"tcp":  "127.0.0.1:0",
		"unix": "unix://" + filepath.Join(t.TempDir(), "s"),
	} {
		t.Run(name, func(t *testing.T) {
			r := redistest.Start(t)
			proxy := redistest.StartProxy(t, r.Addr)
			p := startServer(t, on(proxy)+patientDriver, "ONCEWARD_LISTEN="+listen, "ONCEWARD_DRAIN_TIMEOUT=15s")
			drain := &drainTest{t: t, p: p, proxy: proxy}
			drain.run()
		})
	}
}

type drainTest struct {
	t     *testing.T
	p     *process
	proxy *redistest.Proxy
}

const callsInFlight = 100

func (d *drainTest) run() {
	d.p.hold(attempt("held by another", lease(time.Hour)))
	health := watchHealth(d.t, d.p)
	waiter := d.startWaiter()

	d.proxy.HoldReplies()
	calls := d.startCalls()
	redistest.Eventually(d.t, "all calls are in flight, the waiter's too", func() error {
		if n := d.proxy.HeldBack(); n < callsInFlight+1 {
			return fmt.Errorf("%d replies are held back", n)
		}
		return nil
	})
	begin := time.Now()
	d.p.terminate()
	health.wait(healthpb.HealthCheckResponse_NOT_SERVING)
	health.stop()
	if code, err := d.p.get("/readyz"); err != nil || code != http.StatusServiceUnavailable {
		d.t.Errorf("/readyz while draining: %d, %v, want 503", code, err)
	}
	d.proxy.Pass()

	for range callsInFlight {
		if a := <-calls; a.err != nil || a.v.GetOutcome() != claimed {
			d.t.Errorf("a call in flight: %v, %v, want CLAIMED", a.v, a.err)
		}
	}
	if a := <-waiter; a.err != nil || a.v.GetOutcome() != inProgress {
		d.t.Errorf("the caller who waits: %v, %v, want IN_PROGRESS", a.v, a.err)
	}
	if code := d.p.wait(15 * time.Second); code != 0 {
		d.t.Errorf("exit code %d, want 0", code)
	}
	if took := time.Since(begin); took > 10*time.Second {
		d.t.Errorf("drained after %s, although every call ended long before", took)
	}
}

type answer struct {
	v   *oncewardv1.CheckAndClaimResponse
	err error
}

// startWaiter lets a caller wait 30 s for a claim that nobody will give back.
func (d *drainTest) startWaiter() <-chan answer {
	out := make(chan answer, 1)
	q := attempt("held by another")
	q.Wait = durationpb.New(30 * time.Second)
	go func() {
		v, err := once(q, d.p.CheckAndClaim)
		out <- answer{v, err}
	}()
	return out
}

func (d *drainTest) startCalls() <-chan answer {
	out := make(chan answer, callsInFlight)
	for i := range callsInFlight {
		go func() {
			v, err := once(attempt(fmt.Sprintf("in flight %d", i)), d.p.CheckAndClaim)
			out <- answer{v, err}
		}()
	}
	return out
}

// healthWatch is a stream of health's changes, over a connection of its own.
type healthWatch struct {
	t      *testing.T
	stream healthpb.Health_WatchClient
	cancel context.CancelFunc
}

func watchHealth(t *testing.T, p *process) *healthWatch {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	stream, err := healthpb.NewHealthClient(dial(t, p.addrs[0])).Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	w := &healthWatch{t, stream, cancel}
	w.wait(healthpb.HealthCheckResponse_SERVING)
	return w
}

func (w *healthWatch) wait(want healthpb.HealthCheckResponse_ServingStatus) {
	w.t.Helper()
	for {
		resp, err := w.stream.Recv()
		if err != nil {
			w.t.Errorf("health ended before it was %s: %v", want, err)
			return
		}
		if resp.GetStatus() == want {
			return
		}
	}
}

func (w *healthWatch) stop() { w.cancel() }

// Clients and balancers watch health as long as they are connected. That must
// not cost every restart its whole drain timeout.
func TestWhoWatchesHealthDoesNotHoldUpTheDrain(t *testing.T) {
	t.Parallel() // mostly waits
	p := startServer(t, "ONCEWARD_DRAIN_TIMEOUT=20s")
	health := watchHealth(t, p)
	p.terminate()
	health.wait(healthpb.HealthCheckResponse_NOT_SERVING)
	if code := p.wait(10 * time.Second); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

func TestTheDrainTimeoutCutsWhatDoesNotEnd(t *testing.T) {
	r := redistest.Start(t)
	proxy := redistest.StartProxy(t, r.Addr)
	p := startServer(t, on(proxy)+patientDriver, "ONCEWARD_DRAIN_TIMEOUT=200ms")
	proxy.HoldReplies()
	call := make(chan error, 1)
	go func() { _, err := once(attempt("without an end"), p.CheckAndClaim); call <- err }()
	redistest.Eventually(t, "the call is in flight", func() error {
		if proxy.HeldBack() == 0 {
			return errors.New("no reply is held back")
		}
		return nil
	})
	p.terminate()
	if code := p.wait(10 * time.Second); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if err := <-call; status.Code(err) != codes.Unavailable {
		t.Errorf("the call that was cut: %v, want UNAVAILABLE", err)
	}
}

func TestSIGTERMWithoutRedisEndsInTime(t *testing.T) {
	for name, start := range map[string]func(*testing.T, *redistest.Proxy) *process{
		"never there": func(t *testing.T, proxy *redistest.Proxy) *process {
			proxy.Hold()
			return launch(t, on(proxy))
		},
		"gone": func(t *testing.T, proxy *redistest.Proxy) *process {
			p := startServer(t, on(proxy))
			p.hold(attempt("before"))
			proxy.Hold()
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := redistest.Start(t)
			p := start(t, redistest.StartProxy(t, r.Addr))
			calls := p.everyVerb("before", 1)
			errs := make(chan error, len(calls))
			for _, c := range calls {
				go func() { errs <- c.do() }()
			}
			p.terminate()
			if code := p.wait(10 * time.Second); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
			for range calls {
				if err := <-errs; !worthRepeating(err) {
					t.Errorf("a call in flight: %v, want UNAVAILABLE or DEADLINE_EXCEEDED", err)
				}
			}
		})
	}
}

func TestAfterTheDrainThereIsNoAnswerAndNoSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	p := startServer(t, "ONCEWARD_LISTEN=unix://"+socket)
	p.terminate()
	if code := p.wait(15 * time.Second); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if _, err := once(attempt("late"), p.CheckAndClaim); status.Code(err) != codes.Unavailable {
		t.Errorf("CheckAndClaim: %v, want UNAVAILABLE", err)
	}
	startServer(t, "ONCEWARD_LISTEN=unix://"+socket)
}

// A process that was killed leaves its socket behind; that must not keep the
// next one from starting.
func TestASocketLeftBehindIsReplacedAndOneInUseIsNot(t *testing.T) {
	listen := "ONCEWARD_LISTEN=unix://" + filepath.Join(t.TempDir(), "s")
	first := startServer(t, listen)
	second := begin(t, listen)
	if code := second.wait(15 * time.Second); code == 0 {
		t.Errorf("a second server on the socket: exit code 0, want an error")
	}
	first.hold(attempt("still served"))
	if err := first.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	first.wait(15 * time.Second)
	startServer(t, listen).hold(attempt("served again"))
}
