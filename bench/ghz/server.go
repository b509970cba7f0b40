package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const startTimeout = 30 * time.Second

// server is a server of our own.
type server struct {
	target, http, dir string
	cmd               *exec.Cmd
	ended             chan struct{}
}

// startServer builds the server from this module's source and starts it on free
// ports. In a Redis its keys have a prefix of their own, so that nothing is left
// from an earlier run.
func startServer(ctx context.Context, redisURL string) (_ *server, err error) {
	dir, err := os.MkdirTemp("", "onceward-load-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, ended: make(chan struct{})}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	if s.target, err = freeAddress(); err != nil {
		return nil, err
	}
	if s.http, err = freeAddress(); err != nil {
		return nil, err
	}
	binary := filepath.Join(dir, "onceward")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/onceward/onceward/server")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return s, s.start(ctx, binary, redisURL)
}

func (s *server) start(ctx context.Context, binary, redisURL string) error {
	cmd := exec.Command(binary, "-listen", s.target, "-http-listen", s.http, "-redis-url", redisURL,
		"-redis-prefix", "ow1:load-"+rand.Text()+":", "-log-level", "warn")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd = cmd
	go func() {
		cmd.Wait()
		close(s.ended)
	}()
	return s.awaitReady(ctx)
}

func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		_, err := s.get(ctx, "/readyz")
		if err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return errors.New("the server ended at once")
		case <-ctx.Done():
			return fmt.Errorf("the server does not get ready: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
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

func (s *server) stop() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		<-s.ended
	}
	os.RemoveAll(s.dir)
}

// freeAddress is a loopback address that nobody listened on a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
