package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// ownDeadline bounds a call that brings no deadline of its own.
const ownDeadline = 2 * time.Second

// Observe is told of every call that has ended. method is in gRPC's form,
// /service/method.
type Observe func(method string, code codes.Code, took time.Duration)

// unary stands before every call: it gives it a deadline, survives its panics,
// logs and counts how it ended. It is one function of ours because a chain of
// ready-made interceptors cost a third of an empty call, this one next to nothing.
func unary(log *slog.Logger, observe Observe) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
		start := time.Now()
		defer func() {
			if p := recover(); p != nil {
				resp, err = nil, recovered(ctx, log, p)
			}
			ended(ctx, log, observe, info.FullMethod, start, err)
		}()
		return deadline(ctx, req, next)
	}
}

// stream does the same for streams: Stream, health watches and reflection.
// draining is closed when the service stops.
func stream(log *slog.Logger, observe Observe, draining <-chan struct{}) grpc.StreamServerInterceptor {
	return func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
		start := time.Now()
		defer func() { ended(s.Context(), log, observe, info.FullMethod, start, err) }()
		return untilDrained(srv, s, info, draining, func(srv any, s grpc.ServerStream) (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = recovered(s.Context(), log, p)
				}
			}()
			return next(srv, s)
		})
	}
}

// ended logs and counts a call.
func ended(ctx context.Context, log *slog.Logger, observe Observe, method string, start time.Time, err error) {
	code, took := status.Code(err), time.Since(start)
	observe(method, code, took)
	if level := level(code); log.Enabled(ctx, level) {
		log.LogAttrs(ctx, level, "finished call", slog.String("grpc.method", method), slog.String("grpc.code", code.String()),
			slog.Float64("grpc.time_ms", float64(took.Microseconds())/1000))
	}
}

// deadline gives a call that brings none the server's own, plus what the caller
// is willing to wait.
func deadline(ctx context.Context, req any, next grpc.UnaryHandler) (any, error) {
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
func recovered(ctx context.Context, log *slog.Logger, p any) error {
	log.ErrorContext(ctx, "panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return status.Error(codes.Internal, "internal error")
}

// level is debug for what is normal, so that the hot path does not log.
func level(c codes.Code) slog.Level {
	switch c {
	case codes.OK, codes.Canceled, codes.Unimplemented:
		return slog.LevelDebug
	case codes.Internal, codes.Unknown, codes.DataLoss:
		return slog.LevelError
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// farewell is how long a watcher of health has to read that the service stops.
const farewell = 500 * time.Millisecond

// untilDrained ends the streams that would never end by themselves, health
// watches and reflection, when the service drains: they must not cost every
// restart its whole drain timeout. Onceward's own Stream ends by itself, and
// first answers what is in flight.
func untilDrained(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, draining <-chan struct{}, next grpc.StreamHandler) error {
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
