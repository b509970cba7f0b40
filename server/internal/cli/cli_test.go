package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// generous bounds every wait: only a machine that is broken reaches it.
const generous = time.Minute

// binary is the service and its commands, as they ship.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "onceward-cli-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "onceward")
	build := exec.Command("go", "build", "-o", binary, "github.com/onceward/onceward/server")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// policies are those of every service that the tests start.
const policies = `
namespaces:
  gaps:
    ordering: {gap: hold}
  orders:
    routing: entity
    ordering:
      transitions: {pending: [paid], paid: [refunded]}
`

// service is a running service and direct connections to it.
type service struct {
	t      *testing.T
	addr   string // host:port
	socket string // unix:///path
	worker oncewardv1.OncewardServiceClient
	admin  oncewardv1.AdminServiceClient
}

// start starts a service with an empty store, and waits until it serves.
func start(t *testing.T) *service {
	t.Helper()
	s := &service{t: t, socket: "unix://" + filepath.Join(shortDir(t), "s")}
	config := filepath.Join(t.TempDir(), "policies.yaml")
	writeFile(t, config, policies)
	log := &output{}
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = append(environment(), "ONCEWARD_LISTEN=127.0.0.1:0,"+s.socket, "ONCEWARD_HTTP_LISTEN=127.0.0.1:0",
		"ONCEWARD_CONFIG="+config, "ONCEWARD_LOG_FORMAT=json")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("the service said:\n%s", log)
		}
	})
	eventually(t, "the service says where it listens", func() bool {
		s.addr = log.address()
		return s.addr != ""
	})
	s.connect()
	return s
}

// shortDir is a directory whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(binary), "")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (s *service) connect() {
	s.t.Helper()
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	s.worker, s.admin = oncewardv1.NewOncewardServiceClient(conn), oncewardv1.NewAdminServiceClient(conn)
	eventually(s.t, "the service is serving", func() bool {
		resp, err := healthpb.NewHealthClient(conn).Check(s.t.Context(), &healthpb.HealthCheckRequest{})
		return err == nil && resp.GetStatus() == healthpb.HealthCheckResponse_SERVING
	})
}

// output collects what a process writes while the test reads it.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// address is the TCP address in a service's log, once there are all.
func (o *output) address() (found string) {
	all := 0
	for line := range strings.Lines(o.String()) {
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg != "serving gRPC" {
			continue
		}
		all++
		if _, _, err := net.SplitHostPort(entry.Address); err == nil {
			found = entry.Address
		}
	}
	if all < 2 {
		return ""
	}
	return found
}

// environment is this process's own without any setting of Onceward's.
func environment() (env []string) {
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "ONCEWARD_") {
			env = append(env, e)
		}
	}
	return env
}

// result is how a command ended.
type result struct {
	stdout, stderr string
	code           int
}

// run runs a command against the service, as ada.
func (s *service) run(args ...string) result {
	s.t.Helper()
	return runWith(s.t, []string{"ONCEWARD_ADDR=" + s.addr, "ONCEWARD_ACTOR=ada"}, args...)
}

func runWith(t *testing.T, env []string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), generous)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(environment(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		t.Fatalf("onceward %q: %v", args, err)
	}
	r := result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	for _, bad := range []string{"panic", "goroutine "} {
		if strings.Contains(r.stderr, bad) {
			t.Fatalf("onceward %q: %s", args, r.stderr)
		}
	}
	return r
}

// done runs a command that must succeed and say nothing on stderr, and gives its
// stdout.
func (s *service) done(args ...string) string {
	s.t.Helper()
	r := s.run(args...)
	if r.code != 0 || r.stderr != "" {
		s.t.Fatalf("onceward %q: exit code %d, stderr %q", args, r.code, r.stderr)
	}
	return r.stdout
}

// refused runs a command that must end with this exit code, one line on stderr
// with all of these texts, and nothing on stdout.
func (s *service) refused(code int, texts []string, args ...string) {
	s.t.Helper()
	r := s.run(args...)
	if r.code != code || r.stdout != "" {
		s.t.Errorf("onceward %q: exit code %d, want %d; stdout %q", args, r.code, code, r.stdout)
	}
	checkLine(s.t, r.stderr, texts...)
}

func checkLine(t *testing.T, line string, texts ...string) {
	t.Helper()
	if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
		t.Errorf("not one line: %q", line)
	}
	checkText(t, line, texts...)
}

func checkText(t *testing.T, got string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(got, text) {
			t.Errorf("%q is not in:\n%s", text, got)
		}
	}
}

// parse reads JSON lines.
func parse[T any, M interface {
	*T
	proto.Message
}](t *testing.T, stdout string) (all []M) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		m := M(new(T))
		if err := protojson.Unmarshal([]byte(line), m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, m)
	}
	return all
}

// parseOne reads the only JSON line.
func parseOne[T any, M interface {
	*T
	proto.Message
}](t *testing.T, stdout string) M {
	t.Helper()
	all := parse[T, M](t, stdout)
	if len(all) != 1 {
		t.Fatalf("%d lines, want one:\n%s", len(all), stdout)
	}
	return all[0]
}

// rows are the lines of a table, each split at runs of two spaces and more.
func rows(stdout string) (all [][]string) {
	for line := range strings.Lines(stdout) {
		var cells []string
		for part := range strings.SplitSeq(strings.TrimSuffix(line, "\n"), "  ") {
			if part = strings.TrimSpace(part); part != "" {
				cells = append(cells, part)
			}
		}
		all = append(all, cells)
	}
	return all
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(generous); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("gave up waiting until %s", what)
		}
	}
}
