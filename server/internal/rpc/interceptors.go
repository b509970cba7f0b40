package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/logging"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// ownDeadline bounds a call that brings no deadline of its own.
const ownDeadline = 2 * time.Second

// Unary is the chain of interceptors, outermost first. Recovery is innermost, so
// that a panic is logged like any other failed call.
func Unary(log *slog.Logger) []grpc.UnaryServerInterceptor {
	return []grpc.UnaryServerInterceptor{
		logging.UnaryServerInterceptor(logTo(log), logging.WithLogOnEvents(logging.FinishCall), logging.WithLevels(level)),
		deadline,
		recovery.UnaryServerInterceptor(recovery.WithRecoveryHandlerContext(recovered(log))),
	}
}

// Streams is the chain for streams: Stream, health watches and reflection.
// draining is closed when the service stops.
func Streams(log *slog.Logger, draining <-chan struct{}) []grpc.StreamServerInterceptor {
	return []grpc.StreamServerInterceptor{
		logging.StreamServerInterceptor(logTo(log), logging.WithLogOnEvents(logging.FinishCall), logging.WithLevels(level)),
		untilDrained(draining),
		recovery.StreamServerInterceptor(recovery.WithRecoveryHandlerContext(recovered(log))),
	}
}

// deadline gives a call that brings none the server's own, plus what the caller
// is willing to wait.
func deadline(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if _, has := ctx.Deadline(); has {
		return next(ctx, req)
	}
	ctx, cancel := context.WithTimeout(ctx, ownDeadline+longestWait(req))
	defer cancel()
	return next(ctx, req)
}

// longestWait is how long the caller is willing to wait.
func longestWait(req any) (longest time.Duration) {
	switch q := req.(type) {
	case *oncewardv1.CheckAndClaimRequest:
		return q.GetWait().AsDuration()
	case *oncewardv1.BatchRequest:
		for _, op := range q.GetOperations() {
			longest = max(longest, op.GetCheckAndClaim().GetWait().AsDuration())
		}
	}
	return longest
}

// recovered logs a panic with its stack and tells the caller nothing of it.
func recovered(log *slog.Logger) recovery.RecoveryHandlerFuncContext {
	return func(ctx context.Context, p any) error {
		log.ErrorContext(ctx, "panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		return status.Error(codes.Internal, "internal error")
	}
}

// level is debug for what is normal, so that the hot path does not log.
func level(c codes.Code) logging.Level {
	switch c {
	case codes.OK, codes.Canceled, codes.Unimplemented:
		return logging.LevelDebug
	case codes.Internal, codes.Unknown, codes.DataLoss:
		return logging.LevelError
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted:
		return logging.LevelWarn
	}
	return logging.LevelInfo
}

func logTo(log *slog.Logger) logging.Logger {
	return logging.LoggerFunc(func(ctx context.Context, lvl logging.Level, msg string, fields ...any) {
		log.Log(ctx, slog.Level(lvl), msg, fields...)
	})
}

// farewell is how long a watcher of health has to read that the service stops.
const farewell = 500 * time.Millisecond

// untilDrained ends the streams that would never end by themselves, health
// watches and reflection, when the service drains: they must not cost every
// restart its whole drain timeout. Onceward's own Stream ends by itself, and
// first answers what is in flight.
func untilDrained(draining <-chan struct{}) grpc.StreamServerInterceptor {
	return func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if info.FullMethod == oncewardv1.OncewardService_Stream_FullMethodName {
			return next(srv, s)
		}
		done := make(chan error, 1)
		go func() { done <- next(srv, s) }() // ends with the stream, if not before
		select {
		case err := <-done:
			return err
		case <-draining:
		}
		select {
		case err := <-done:
			return err
		case <-time.After(farewell):
			return status.Error(codes.Unavailable, "the server is stopping: reconnect")
		}
	}
}
