package main

import (
	"os"
	"path/filepath"

	"google.golang.org/grpc"

	"github.com/onceward/onceward/bench/procs"
)

// connections is how many a target gets.
const connections = 4

// policies has a namespace for ordered claims beside the defaults.
const policies = `namespaces:
  ordered:
    routing: entity
`

// house has the server's binary and the processes that were started.
type house struct {
	dir, server, policies string
	stops                 []func()
}

// target is a service under load, with its Redis where it has one.
type target struct {
	service *procs.Proc
	redis   *procs.Redis
	conns   []*grpc.ClientConn
}

func newHouse() (*house, error) {
	dir, err := os.MkdirTemp("", "onceward-bench-")
	if err != nil {
		return nil, err
	}
	h := &house{dir: dir, policies: filepath.Join(dir, "policies.yaml")}
	if h.server, err = procs.Build(dir); err != nil {
		return nil, err
	}
	return h, os.WriteFile(h.policies, []byte(policies), 0o600)
}

func (h *house) close() {
	for _, stop := range h.stops {
		stop()
	}
	os.RemoveAll(h.dir)
}

func (h *house) redis() (*procs.Redis, error) {
	r, err := procs.StartRedis(h.dir)
	if err == nil {
		h.stops = append(h.stops, r.Stop)
	}
	return r, err
}

// onceward starts the server, on a Redis of its own or on its embedded store.
func (h *house) onceward(embedded bool) (*target, error) {
	var r *procs.Redis
	url := ""
	if !embedded {
		var err error
		if r, err = h.redis(); err != nil {
			return nil, err
		}
		url = r.URL()
	}
	return h.target(h.server, nil, r, func(addr string) []string {
		return []string{"-listen", addr, "-http-listen", "off", "-redis-url", url, "-config", h.policies, "-log-level", "error"}
	})
}

// child starts this program again in another role.
func (h *house) child(role string, env []string, r *procs.Redis) (*target, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return h.target(self, append(env, roleVariable+"="+role), r, func(addr string) []string {
		if r != nil {
			return []string{addr, r.URL()}
		}
		return []string{addr}
	})
}

func (h *house) target(path string, env []string, r *procs.Redis, args func(addr string) []string) (*target, error) {
	p, err := procs.StartGRPC(path, env, args)
	if err != nil {
		return nil, err
	}
	t := &target{service: p, redis: r}
	h.stops = append(h.stops, p.Stop)
	for range connections {
		c, err := p.Dial()
		if err != nil {
			return nil, err
		}
		h.stops = append(h.stops, func() { c.Close() })
		t.conns = append(t.conns, c)
	}
	return t, nil
}

func (t *target) flush() error {
	if t.redis == nil {
		return nil
	}
	return t.redis.Flush()
}
