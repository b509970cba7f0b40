package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// callTimeout bounds a call whose context has no deadline, repeats included.
const callTimeout = 5 * time.Second

// Client calls one Onceward service. It is safe for concurrent use and meant to
// live as long as the program.
type Client struct {
	rpc   oncewardv1.OncewardServiceClient
	admin oncewardv1.AdminServiceClient
	conn  io.Closer // nil if the caller owns the connection
}

// New makes a client on a connection that the caller brings, and keeps: Close
// does not close it. See [ServiceConfig] for what the connection should have.
func New(conn grpc.ClientConnInterface) *Client {
	return &Client{
		rpc:   oncewardv1.NewOncewardServiceClient(conn),
		admin: oncewardv1.NewAdminServiceClient(conn),
	}
}

// Close closes the connection that [Dial] made. Calls in flight fail with
// CANCELED.
func (c *Client) Close() error {
	if c.conn == nil {
		return nil
	}
	return c.conn.Close()
}

func withDeadline(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}

// newRequestID is 128 random bits in hex.
func newRequestID() string {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// durationProto leaves zero unset: the service refuses an explicit zero.
func durationProto(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

func goTime(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}
