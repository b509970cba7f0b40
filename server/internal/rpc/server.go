package rpc

import (
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/onceward"
)

// maxMessage bounds a request: a batch of the most operations with 8 KiB each, or
// a few results of the largest size that a policy may allow.
const maxMessage = 8 << 20

// Config is what an operator decides about the gRPC server.
type Config struct {
	Reflection bool    // serve reflection, v1 and v1alpha
	Observe    Observe // told of every call
}

// streamWorkers is how many goroutines wait to serve calls: ready ones need not
// grow a new stack each time. With more calls at once than that, the others get
// goroutines of their own.
const streamWorkers = 64

// NewServer returns a gRPC server with the contract's services, health and
// reflection registered. Health starts as NOT_SERVING.
func NewServer(s *onceward.Service, log *slog.Logger, c Config) (*grpc.Server, *health.Server) {
	g := grpc.NewServer(
		grpc.UnaryInterceptor(unary(log, c.Observe)),
		grpc.StreamInterceptor(stream(log, c.Observe, s.Draining())),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime:             5 * time.Second, // a client may ping every ten
			PermitWithoutStream: true,
		}),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge:      30 * time.Minute,        // grpc-go adds a jitter of 10 %
			MaxConnectionAgeGrace: streamAge + streamAge/5, // until its last stream has ended by itself
		}),
	)
	h := health.NewServer()
	oncewardv1.RegisterOncewardServiceServer(g, NewOnceward(s, log))
	oncewardv1.RegisterAdminServiceServer(g, NewAdmin(s, log))
	healthpb.RegisterHealthServer(g, h)
	if c.Reflection {
		reflection.Register(g)
	}
	SetServing(h, false)
	return g, h
}

// SetServing tells health watchers, for the process and for each service.
func SetServing(h *health.Server, serving bool) {
	status := healthpb.HealthCheckResponse_NOT_SERVING
	if serving {
		status = healthpb.HealthCheckResponse_SERVING
	}
	for _, service := range []string{"", oncewardv1.OncewardService_ServiceDesc.ServiceName, oncewardv1.AdminService_ServiceDesc.ServiceName} {
		h.SetServingStatus(service, status)
	}
}
