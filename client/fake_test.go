package client_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/onceward/onceward/client"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

const fakeToken = 1700000000000007

var errUnavailable = status.Error(codes.Unavailable, "scripted")

// fakeServer answers as a service with one free key would. Each hook, where set,
// gets the number of the call (from 1) and may answer instead: nil, nil falls
// through to the usual answer.
type fakeServer struct {
	oncewardv1.UnimplementedOncewardServiceServer
	oncewardv1.UnimplementedAdminServiceServer

	claim    func(n int, req *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error)
	complete func(n int, req *oncewardv1.CompleteRequest) (*oncewardv1.CompleteResponse, error)
	release  func(n int, req *oncewardv1.ReleaseRequest) (*oncewardv1.ReleaseResponse, error)
	extend   func(n int, req *oncewardv1.ExtendLeaseRequest) (*oncewardv1.ExtendLeaseResponse, error)
	apply    func(n int, req *oncewardv1.ApplyIfNewerRequest) (*oncewardv1.ApplyIfNewerResponse, error)
	entity   func(n int, req *oncewardv1.GetEntityRequest) (*oncewardv1.GetEntityResponse, error)
	list     func(n int, req *oncewardv1.ListEntitiesRequest) (*oncewardv1.ListEntitiesResponse, error)
	set      func(n int, req *oncewardv1.ReconcileEntityRequest) (*oncewardv1.ReconcileEntityResponse, error)

	stream func(n int, s oncewardv1.OncewardService_StreamServer) error // replaces the usual stream

	mu        sync.Mutex
	streams   int
	claims    []*oncewardv1.CheckAndClaimRequest
	completes []*oncewardv1.CompleteRequest
	releases  []*oncewardv1.ReleaseRequest
	extends   []*oncewardv1.ExtendLeaseRequest
	applies   []*oncewardv1.ApplyIfNewerRequest
	entities  []*oncewardv1.GetEntityRequest
	lists     []*oncewardv1.ListEntitiesRequest
	sets      []*oncewardv1.ReconcileEntityRequest
}

func (f *fakeServer) CheckAndClaim(_ context.Context, req *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
	usual := &oncewardv1.CheckAndClaimResponse{Outcome: client.Claimed, Key: req.GetKey(), FencingToken: fakeToken, Attempt: 1}
	return answer(&f.mu, &f.claims, req, f.claim, usual)
}

func (f *fakeServer) Complete(_ context.Context, req *oncewardv1.CompleteRequest) (*oncewardv1.CompleteResponse, error) {
	usual := &oncewardv1.CompleteResponse{Outcome: client.Settled, State: client.StateCompleted}
	return answer(&f.mu, &f.completes, req, f.complete, usual)
}

func (f *fakeServer) Release(_ context.Context, req *oncewardv1.ReleaseRequest) (*oncewardv1.ReleaseResponse, error) {
	usual := &oncewardv1.ReleaseResponse{Outcome: client.Settled, State: client.StateReleased}
	return answer(&f.mu, &f.releases, req, f.release, usual)
}

func (f *fakeServer) ExtendLease(_ context.Context, req *oncewardv1.ExtendLeaseRequest) (*oncewardv1.ExtendLeaseResponse, error) {
	usual := &oncewardv1.ExtendLeaseResponse{Outcome: client.Settled, State: client.StateInProgress}
	return answer(&f.mu, &f.extends, req, f.extend, usual)
}

func (f *fakeServer) ApplyIfNewer(_ context.Context, req *oncewardv1.ApplyIfNewerRequest) (*oncewardv1.ApplyIfNewerResponse, error) {
	usual := &oncewardv1.ApplyIfNewerResponse{Outcome: client.Applied, Current: &oncewardv1.EntityState{Version: req.GetVersion()}}
	return answer(&f.mu, &f.applies, req, f.apply, usual)
}

func (f *fakeServer) GetEntity(_ context.Context, req *oncewardv1.GetEntityRequest) (*oncewardv1.GetEntityResponse, error) {
	return answer(&f.mu, &f.entities, req, f.entity, &oncewardv1.GetEntityResponse{})
}

func (f *fakeServer) ListEntities(_ context.Context, req *oncewardv1.ListEntitiesRequest) (*oncewardv1.ListEntitiesResponse, error) {
	return answer(&f.mu, &f.lists, req, f.list, &oncewardv1.ListEntitiesResponse{})
}

func (f *fakeServer) ReconcileEntity(_ context.Context, req *oncewardv1.ReconcileEntityRequest) (*oncewardv1.ReconcileEntityResponse, error) {
	return answer(&f.mu, &f.sets, req, f.set, &oncewardv1.ReconcileEntityResponse{Outcome: client.Applied})
}

// forget makes f as it was before it was asked.
func (f *fakeServer) forget() {
	f.streams = 0
	f.claims, f.completes, f.releases, f.extends = nil, nil, nil, nil
	f.applies, f.entities, f.lists, f.sets = nil, nil, nil, nil
}

func answer[Req, Resp any](mu *sync.Mutex, seen *[]*Req, req *Req, hook func(int, *Req) (*Resp, error), usual *Resp) (*Resp, error) {
	mu.Lock()
	*seen = append(*seen, req)
	n := len(*seen)
	mu.Unlock()
	if hook != nil {
		if resp, err := hook(n, req); resp != nil || err != nil {
			return resp, err
		}
	}
	return usual, nil
}

// extensions is how many renewals have arrived.
func (f *fakeServer) extensions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.extends)
}

// start serves f in memory and returns a client for it. Tests that run in a
// synctest bubble see only virtual time, gRPC's included.
func (f *fakeServer) start(t *testing.T) *client.Client {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.WaitForHandlers(true))
	oncewardv1.RegisterOncewardServiceServer(server, f)
	oncewardv1.RegisterAdminServiceServer(server, f)
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(listener) })
	c, err := client.Dial("passthrough:///fake",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		server.Stop()
		serving.Wait()
	})
	return c
}

func claimed(req *oncewardv1.CheckAndClaimRequest, attempt int32, t *oncewardv1.Takeover) *oncewardv1.CheckAndClaimResponse {
	return &oncewardv1.CheckAndClaimResponse{
		Outcome: client.Claimed, Key: req.GetKey(), FencingToken: fakeToken, Attempt: attempt, Takeover: t,
	}
}

func inProgress(retryAfter time.Duration) *oncewardv1.CheckAndClaimResponse {
	return &oncewardv1.CheckAndClaimResponse{Outcome: client.InProgress, RetryAfter: durationpb.New(retryAfter)}
}

func timestamp(at time.Time) *timestamppb.Timestamp { return timestamppb.New(at) }
