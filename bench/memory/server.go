package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

const (
	retention   = time.Hour
	connections = 4
	calls       = 8 // at a time
	batch       = 200
)

// server is a server of our own.
type server struct {
	cmd   *exec.Cmd
	conns []*grpc.ClientConn
}

func startServer(ctx context.Context, dir, redisURL string) (*server, error) {
	binary, socket := filepath.Join(dir, "server"), filepath.Join(dir, "grpc")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/onceward/onceward/server")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	s := &server{cmd: exec.CommandContext(ctx, binary, "--listen", "unix://"+socket, "--http-listen", "", "--redis-url", redisURL, "--log-level", "warn")}
	s.cmd.Stdout, s.cmd.Stderr = os.Stderr, os.Stderr
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for range connections {
		conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			s.stop()
			return nil, err
		}
		s.conns = append(s.conns, conn)
	}
	if err := eventually(ctx, "the server serves", func() error { return s.serving(ctx) }); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *server) serving(ctx context.Context) error {
	resp, err := healthpb.NewHealthClient(s.conns[0]).Check(ctx, &healthpb.HealthCheckRequest{})
	if err == nil && resp.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		err = fmt.Errorf("health is %s", resp.GetStatus())
	}
	return err
}

func (s *server) stop() {
	for _, c := range s.conns {
		c.Close()
	}
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

// fill writes n keys of one kind.
func (s *server) fill(ctx context.Context, n int, k kind, p progress) error {
	var next, done atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for worker := range calls {
		client := oncewardv1.NewOncewardServiceClient(s.conns[worker%connections])
		g.Go(func() error {
			for {
				from := int(next.Add(batch)) - batch
				if from >= n {
					return nil
				}
				to := min(from+batch, n)
				if err := k.write(ctx, client, from, to); err != nil {
					return err
				}
				p(int(done.Add(int64(to - from))))
			}
		})
	}
	return g.Wait()
}
