package main

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/onceward/onceward/bench/procs"
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
	*procs.Proc
	conns []*grpc.ClientConn
}

func startServer(dir, redisURL string) (*server, error) {
	binary, err := procs.Build(dir)
	if err != nil {
		return nil, err
	}
	p, err := procs.StartGRPC(binary, nil, func(addr string) []string {
		return []string{"--listen", addr, "--http-listen", "", "--redis-url", redisURL, "--log-level", "warn"}
	})
	if err != nil {
		return nil, err
	}
	s := &server{Proc: p}
	for range connections {
		conn, err := p.Dial()
		if err != nil {
			s.stop()
			return nil, err
		}
		s.conns = append(s.conns, conn)
	}
	return s, nil
}

func (s *server) stop() {
	for _, c := range s.conns {
		c.Close()
	}
	s.Stop()
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
