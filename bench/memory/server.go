package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/durationpb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

const (
	retention   = time.Hour
	connections = 4
	calls       = 128 // at a time
)

// kind is one way to claim.
type kind struct {
	name        string
	fingerprint int // bytes
	owner       string
	final       bool
}

// kinds are the ways to claim; the first is the one that has a limit.
var kinds = []kind{
	{name: "claim, completed"},
	{name: "claim with 32-byte fingerprint, completed", fingerprint: 32},
	{name: "claim with 12-byte owner, completed", owner: "worker-12345"},
	{name: "final claim", final: true},
}

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

// fill claims n keys and completes them.
func (s *server) fill(ctx context.Context, n int, k kind, p progress) error {
	var next, done atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for worker := range calls {
		client := oncewardv1.NewOncewardServiceClient(s.conns[worker%connections])
		g.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := k.claimAndComplete(ctx, client, i); err != nil {
					return err
				}
				p(int(done.Add(1)))
			}
			return nil
		})
	}
	return g.Wait()
}

func (k kind) claimAndComplete(ctx context.Context, client oncewardv1.OncewardServiceClient, i int) error {
	key := hexKey(i)
	var token int64
	err := persist(func() error {
		v, err := client.CheckAndClaim(ctx, k.request(key, i))
		if err == nil && v.GetOutcome() != oncewardv1.ClaimOutcome_CLAIM_OUTCOME_CLAIMED {
			return fmt.Errorf("the answer to CheckAndClaim is %s, want CLAIMED", v.GetOutcome())
		}
		token = v.GetFencingToken()
		return err
	})
	if err != nil || k.final {
		return err
	}
	return persist(func() error {
		v, err := client.Complete(ctx, &oncewardv1.CompleteRequest{Namespace: "memory", Key: key, FencingToken: token})
		if err == nil && v.GetOutcome() == oncewardv1.SettleOutcome_SETTLE_OUTCOME_LOST {
			return fmt.Errorf("the answer to Complete is %s, want OK", v.GetOutcome())
		}
		return err
	})
}

func (k kind) request(key string, i int) *oncewardv1.CheckAndClaimRequest {
	sum := sha256.Sum256([]byte(key))
	return &oncewardv1.CheckAndClaimRequest{
		Namespace:   "memory",
		Key:         key,
		RequestId:   strconv.Itoa(i),
		Retention:   durationpb.New(retention),
		Fingerprint: sum[:k.fingerprint],
		Owner:       k.owner,
		Final:       k.final,
	}
}

// hexKey is the i-th key: 64 hex digits, as of a payload's SHA-256.
func hexKey(i int) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(i)))
	return hex.EncodeToString(sum[:])
}
