package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/redistest"
)

// process is a running server.
type process struct {
	oncewardv1.OncewardServiceClient // over one connection to the first address
	admin                            oncewardv1.AdminServiceClient

	t      *testing.T
	cmd    *exec.Cmd
	log    *lockedBuffer
	http   string
	addrs  []string // gRPC, in the order of the listeners
	conn   *grpc.ClientConn
	exited chan struct{}
	exit   error // of Wait, once exited is closed
}

// startServer starts the server and waits until it serves. Every env is a
// setting as the environment has it, such as ONCEWARD_REDIS_URL=redis://…
func startServer(t *testing.T, env ...string) *process {
	t.Helper()
	p := launch(t, env...)
	p.waitHealth(healthpb.HealthCheckResponse_SERVING)
	return p
}

// launch starts the server and waits until it listens. When the test ends the
// server is killed, and its log must not tell of a panic or a data race.
func launch(t *testing.T, env ...string) *process {
	t.Helper()
	for range 5 {
		p := begin(t, env...)
		if p.listens() {
			p.connect()
			return p
		}
		if !strings.Contains(p.log.String(), "address already in use") || given(env, "ONCEWARD_HTTP_LISTEN") {
			t.Fatalf("the server ended at its start: %v\n%s", p.exit, p.log)
		}
		// somebody took the port between FreeAddr and now: take another
	}
	t.Fatal("no port for the server")
	return nil
}

func begin(t *testing.T, env ...string) *process {
	t.Helper()
	p := &process{t: t, log: &lockedBuffer{}, exited: make(chan struct{}), http: redistest.FreeAddr(t)}
	p.cmd = exec.Command(binary)
	p.cmd.Env = append([]string{"ONCEWARD_LISTEN=127.0.0.1:0", "ONCEWARD_HTTP_LISTEN=" + p.http, "ONCEWARD_LOG_FORMAT=json"}, env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.exit = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(p.end)
	return p
}

func given(env []string, name string) bool {
	return slices.ContainsFunc(env, func(s string) bool { return strings.HasPrefix(s, name+"=") })
}

// listens waits until the log names the addresses, or the process has ended.
func (p *process) listens() bool {
	p.t.Helper()
	var ended bool
	redistest.Eventually(p.t, "the server listens", func() error {
		p.addrs = nil
		for _, line := range p.lines() {
			if line["msg"] == "serving gRPC" {
				p.addrs = append(p.addrs, line["address"].(string))
			}
		}
		select {
		case <-p.exited:
			ended = true
			return nil
		default:
		}
		if _, err := p.get("/healthz"); err != nil {
			return err
		}
		if len(p.addrs) == 0 {
			return errors.New("no address in the log")
		}
		return nil
	})
	return !ended
}

// connect opens a connection to the first address.
func (p *process) connect() {
	p.t.Helper()
	p.conn = dial(p.t, p.addrs[0])
	p.OncewardServiceClient = oncewardv1.NewOncewardServiceClient(p.conn)
	p.admin = oncewardv1.NewAdminServiceClient(p.conn)
}

// dial opens a connection to host:port, or to a path.
func dial(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	if strings.HasPrefix(addr, "/") {
		addr = "unix://" + addr
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func (p *process) end() {
	p.cmd.Process.Kill()
	<-p.exited
	for _, bad := range []string{"panic", "DATA RACE"} {
		if log := p.log.String(); strings.Contains(log, bad) {
			p.t.Errorf("the server's log tells of a %s:\n%s", bad, log)
		}
	}
	if p.t.Failed() {
		p.t.Logf("log of the server at %v:\n%s", p.addrs, tail(p.log.String(), 4000))
	}
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// terminate asks the process to end.
func (p *process) terminate() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
}

// wait gives the process's exit code. It must end within d.
func (p *process) wait(d time.Duration) int {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(d):
		p.t.Fatalf("still running after %s", d)
		return -1
	}
}

// get asks the HTTP listener.
func (p *process) get(path string) (status int, err error) {
	client := http.Client{Timeout: 10 * time.Second}
	resp, err := client.Get("http://" + p.http + path)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

func (p *process) waitHealth(want healthpb.HealthCheckResponse_ServingStatus) {
	p.t.Helper()
	redistest.Eventually(p.t, "health is "+want.String(), func() error {
		got, err := p.health("")
		if err == nil && got != want {
			err = errors.New(got.String())
		}
		return err
	})
}

func (p *process) health(service string) (healthpb.HealthCheckResponse_ServingStatus, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	resp, err := healthpb.NewHealthClient(p.conn).Check(ctx, &healthpb.HealthCheckRequest{Service: service})
	return resp.GetStatus(), err
}

// lines are the lines of the log that are JSON.
func (p *process) lines() (lines []map[string]any) {
	for line := range strings.Lines(p.log.String()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil {
			lines = append(lines, fields)
		}
	}
	return lines
}

func (p *process) hasLogged(message string) bool {
	return slices.ContainsFunc(p.lines(), func(line map[string]any) bool { return line["msg"] == message })
}

// lockedBuffer collects what a process writes while the test reads it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// on is the setting that puts a server on a Redis, or on a proxy before one.
func on(redis interface{ URL() string }) string { return "ONCEWARD_REDIS_URL=" + redis.URL() }

// withPolicies is the setting that gives a server a policies file.
func withPolicies(t *testing.T, text string) string {
	t.Helper()
	path := t.TempDir() + "/policies.yaml"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "ONCEWARD_CONFIG=" + path
}
