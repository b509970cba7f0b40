package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/onceward/onceward/bench/procs"
)

// server is a server of our own.
type server struct {
	*procs.Proc
	http, dir string
}

// startServer builds the server from this module's source and starts it on free
// ports. In a Redis its keys have a prefix of their own, so that nothing is left
// from an earlier run.
func startServer(redisURL string) (*server, error) {
	dir, err := os.MkdirTemp("", "onceward-load-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	if err = s.start(redisURL); err != nil {
		os.RemoveAll(dir)
	}
	return s, err
}

func (s *server) start(redisURL string) (err error) {
	if s.http, err = procs.FreeAddr(); err != nil {
		return err
	}
	binary, err := procs.Build(s.dir)
	if err != nil {
		return err
	}
	s.Proc, err = procs.StartGRPC(binary, nil, func(addr string) []string {
		return []string{"-listen", addr, "-http-listen", s.http, "-redis-url", redisURL,
			"-redis-prefix", "ow1:load-" + rand.Text() + ":", "-log-level", "warn"}
	})
	return err
}

func (s *server) stop() {
	s.Stop()
	os.RemoveAll(s.dir)
}

// decisions reads what the server has decided so far.
func (s *server) decisions(ctx context.Context) (counts, error) {
	text, err := s.get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	return parse(text)
}

func (s *server) get(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.http+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, resp.Status)
	}
	return string(body), err
}
