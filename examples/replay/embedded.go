package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

const (
	serverPackage = "github.com/onceward/onceward/server"
	startTimeout  = 30 * time.Second
	stopTimeout   = 5 * time.Second
)

// server is an Onceward service of the demonstration's own, on a unix socket.
type server struct {
	target string
	cmd    *exec.Cmd
	log    bytes.Buffer
	ended  chan struct{}
}

// startServer builds the server from this module's source and starts it in dir
// with policies. Its store is REDIS_URL if that is set, else its own memory.
func startServer(ctx context.Context, dir string, policies []byte) (*server, error) {
	binary := filepath.Join(dir, "onceward")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, serverPackage)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the server (run this inside the module, or pass -addr): %w\n%s", err, out)
	}
	config := filepath.Join(dir, "policies.yaml")
	if err := os.WriteFile(config, policies, 0o600); err != nil {
		return nil, err
	}
	s := &server{
		target: "unix://" + filepath.Join(dir, "onceward.sock"),
		cmd:    exec.Command(binary),
		ended:  make(chan struct{}),
	}
	s.cmd.Env = append(os.Environ(),
		"ONCEWARD_LISTEN="+s.target, "ONCEWARD_HTTP_LISTEN=127.0.0.1:0",
		"ONCEWARD_REDIS_URL="+os.Getenv("REDIS_URL"), "ONCEWARD_CONFIG="+config)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		s.cmd.Wait()
		close(s.ended)
	}()
	if err := s.awaitServing(ctx); err != nil {
		s.stop()
		return nil, fmt.Errorf("starting the server: %w\n%s", err, s.log.String())
	}
	return s, nil
}

func (s *server) awaitServing(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	soon := backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1, MaxDelay: 20 * time.Millisecond}
	conn, err := grpc.NewClient(s.target,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: soon, MinConnectTimeout: time.Second}))
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		resp, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
		if err == nil && resp.GetStatus() == healthpb.HealthCheckResponse_SERVING {
			return nil
		}
		select {
		case <-s.ended:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop asks the server to drain, and does not wait for ever.
func (s *server) stop() {
	if s.cmd.Process.Signal(os.Interrupt) != nil {
		s.cmd.Process.Kill()
	}
	select {
	case <-s.ended:
	case <-time.After(stopTimeout):
		s.cmd.Process.Kill()
		<-s.ended
	}
}
