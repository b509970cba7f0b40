package client_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/onceward/onceward/client"
)

// generous bounds every wait for a condition: it is reached on a machine that
// is broken, not on one that is slow.
const generous = time.Minute

var scratch string

func TestMain(m *testing.M) {
	if target := os.Getenv(pausedChild); target != "" {
		runPausedChild(target)
		return
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "onceward-client"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	return m.Run()
}

var buildServer = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(scratch, "onceward")
	build := exec.Command("go", "build", "-o", binary, "github.com/onceward/onceward/server")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the server: %w\n%s", err, out)
	}
	return binary, nil
})

// realServer is a running server on a socket of its own.
type realServer struct {
	target string
	client *client.Client

	process *os.Process
	start   func() // again, as it was
}

func startServer(t *testing.T) *realServer {
	t.Helper()
	return startServerWith(t, "")
}

// startServerWith starts a server with policies, in YAML.
func startServerWith(t *testing.T, policies string) *realServer {
	t.Helper()
	return startServerOn(t, "", policies)
}

// startServerOn starts a server on a Redis, or, without one, with its in-process
// store.
func startServerOn(t *testing.T, redisURL, policies string) *realServer {
	t.Helper()
	binary, err := buildServer()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(scratch, "")
	if err != nil {
		t.Fatal(err)
	}
	s := &realServer{target: "unix://" + filepath.Join(dir, "s")}
	config := filepath.Join(dir, "policies.yaml")
	if err := os.WriteFile(config, []byte(policies), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start = func() { s.run(t, binary, "ONCEWARD_REDIS_URL="+redisURL, "ONCEWARD_CONFIG="+config) }
	s.start()
	if s.client, err = client.Dial(s.target); err != nil {
		t.Fatal(err)
	}
	if overStreams {
		s.client = s.client.WithStream()
	}
	t.Cleanup(func() { s.client.Close() })
	return s
}

// overStreams makes the clients of servers that are started from now on use a
// stream.
var overStreams bool

func (s *realServer) run(t *testing.T, binary string, env ...string) {
	t.Helper()
	var log bytes.Buffer
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), "ONCEWARD_LISTEN="+s.target, "ONCEWARD_HTTP_LISTEN=127.0.0.1:0")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.process = cmd.Process
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("the server said:\n%s", log.String())
		}
	})
	s.awaitServing(t)
}

// restart ends the server's process and starts another at the same address.
func (s *realServer) restart(t *testing.T, end os.Signal) {
	t.Helper()
	if err := s.process.Signal(end); err != nil {
		t.Fatal(err)
	}
	s.process.Wait()
	s.start()
}

func (s *realServer) awaitServing(t *testing.T) {
	t.Helper()
	soon := backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond}
	conn, err := grpc.NewClient(s.target,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: soon, MinConnectTimeout: time.Second}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	eventually(t, "the server is serving", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		resp, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
		return err == nil && resp.GetStatus() == healthpb.HealthCheckResponse_SERVING
	})
}

// claim is what the store says about the request's claim now.
func (s *realServer) claim(t *testing.T, req client.ClaimRequest) *client.Record {
	t.Helper()
	record, err := s.client.GetClaim(t.Context(), req.Ref())
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(generous); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("gave up waiting until %s", what)
		}
	}
}
