// Package redistest starts real Redis servers for tests: alone, or three as a
// cluster. They listen on loopback, keep nothing on disk and end with the test
// binary's use of them.
package redistest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience bounds every wait for a server; a machine may be slow.
const patience = 30 * time.Second

// Server is a running redis-server.
type Server struct {
	Addr string

	tb   testing.TB
	dir  string
	args []string
	cmd  *exec.Cmd
	log  *os.File
	own  *redis.Client // of the helpers that look at the store
}

// Start starts a redis-server on a free port with further arguments, and stops
// it when tb ends. Without redis-server on the PATH the test fails: a test that
// did not run must not count as passed.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s := &Server{tb: tb, dir: tb.TempDir(), args: args, Addr: FreeAddr(tb)}
	s.Run()
	tb.Cleanup(s.Kill)
	return s
}

// URL is the server's address as go-redis and --redis-url want it.
func (s *Server) URL() string { return "redis://" + s.Addr }

// Client is a plain client, closed when tb ends.
func (s *Server) Client() *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	s.tb.Cleanup(func() { c.Close() })
	return c
}

// Run starts the process, again after Kill, and waits until it answers.
func (s *Server) Run() {
	s.tb.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		s.tb.Fatal("redis-server is not on the PATH: run make test, which installs it, or install Debian's package redis-server")
	}
	_, port, _ := net.SplitHostPort(s.Addr)
	s.cmd = exec.Command(path, append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--save", ""}, s.args...)...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.log, err = os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.tb.Fatal(err)
	}
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer c.Close()
	Eventually(s.tb, "redis-server answers", func() error { return c.Ping(context.Background()).Err() })
}

// Kill ends the process at once, as a crash would.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Kill()
	s.cmd.Wait()
	s.log.Close()
	s.cmd = nil
}

// StartCluster starts three primaries that share the slots, and gives their
// addresses.
func StartCluster(tb testing.TB) []*Server {
	tb.Helper()
	var nodes []*Server
	create := []string{"--cluster", "create"}
	for range 3 {
		s := Start(tb, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
		nodes = append(nodes, s)
		create = append(create, s.Addr)
	}
	out, err := exec.Command("redis-cli", append(create, "--cluster-yes")...).CombinedOutput()
	if err != nil {
		tb.Fatalf("redis-cli --cluster create: %v\n%s", err, out)
	}
	for _, n := range nodes {
		c := n.Client()
		Eventually(tb, "cluster_state is ok on every node", func() error {
			info, err := c.ClusterInfo(context.Background()).Result()
			if err == nil && !strings.Contains(info, "cluster_state:ok") {
				err = fmt.Errorf("%s", bytes.TrimSpace([]byte(info)))
			}
			return err
		})
	}
	return nodes
}

// ClusterURL is the URL of a cluster, in go-redis's form.
func ClusterURL(nodes []*Server) string {
	url := nodes[0].URL()
	for i, n := range nodes[1:] {
		url += map[bool]string{true: "?", false: "&"}[i == 0] + "addr=" + n.Addr
	}
	return url
}

// Eventually waits until f has no error, and fails the test if that takes too
// long.
func Eventually(tb testing.TB, what string, f func() error) {
	tb.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
	}
	tb.Fatalf("%s: not within %s: %v", what, patience, err)
}

// FreeAddr gives an address on loopback whose port is free, and whose cluster
// bus port (10000 above) is free too.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if port > 55000 {
			continue
		}
		if bus, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+10000)); err == nil {
			bus.Close()
			return "127.0.0.1:" + strconv.Itoa(port)
		}
	}
	tb.Fatal("no free port found")
	return ""
}
