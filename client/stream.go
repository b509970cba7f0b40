package client

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// WithStream returns a client for the same service whose claims, versions and
// settlements travel over one long-lived stream, which costs both sides less
// than a call each. It is for programs that make many calls at once, and is used
// like any other client: [Client.Once], [Client.Apply], [Client.CheckAndClaim],
// [Client.Complete], [Client.Release] and [Client.ExtendLease] mean the same. The
// other calls stay calls of their own, and so do a CheckAndClaim with a Wait,
// which would keep a place from the very Complete that it waits for, and what is
// larger than 256 KiB.
//
// The stream is opened by the first call. When it breaks or the server ends it,
// another is opened, after 50 ms growing to 2 s, and what was not answered is
// sent again: that is safe, because a repeat finds its own request id or token.
// So a call whose server is away does not fail with UNAVAILABLE, as it otherwise
// would, but waits until its context ends. An operation that the server answers
// with UNAVAILABLE is repeated as in [ServiceConfig]. A stream that the server
// refuses for good (UNIMPLEMENTED, PERMISSION_DENIED and the like) fails the
// calls that wait for it; the next call tries again.
//
// What differs besides:
//
//   - Up to 256 operations are under way at once. Further calls wait for a place,
//     or for the end of their context. An operation whose caller went away keeps
//     its place until it is answered.
//   - The server does not learn of a call's deadline, or that its caller went
//     away: it gives every operation 2 s, and carries out what it has received.
//   - Errors have the same code, text and [Reason], without the details beyond
//     these.
//   - All calls use one connection, and so one server. gRPC's unary interceptors
//     do not see them, and metadata and tracing in a call's context stay behind;
//     credentials and stream interceptors apply when a stream is opened.
//
// Both clients share the connection: if [Dial] made it, closing either closes it
// for both. If the caller brought it to [New], closing the client returned here
// ends the stream only, and the caller must do that. WithStream of a client that
// has a stream returns that client.
func (c *Client) WithStream() *Client {
	if _, streams := c.rpc.(*streaming); streams {
		return c
	}
	m := newMultiplexer(c.rpc)
	return &Client{
		rpc:   &streaming{OncewardServiceClient: c.rpc, stream: m},
		admin: c.admin,
		conn:  streamCloser{stream: m, conn: c.conn},
	}
}

type streamCloser struct {
	stream *multiplexer
	conn   io.Closer // nil if the caller owns the connection
}

func (c streamCloser) Close() error {
	c.stream.close()
	if c.conn == nil {
		return nil
	}
	return c.conn.Close()
}

// streaming makes the calls that are operations of a stream over one. What does
// not suit a stream is left to the client that is embedded.
type streaming struct {
	oncewardv1.OncewardServiceClient
	stream *multiplexer
}

func (s *streaming) CheckAndClaim(ctx context.Context, in *oncewardv1.CheckAndClaimRequest, opts ...grpc.CallOption) (*oncewardv1.CheckAndClaimResponse, error) {
	op := encode(&oncewardv1.Operation{Operation: &oncewardv1.Operation_CheckAndClaim{CheckAndClaim: in}})
	if op == nil || in.GetWait() != nil {
		return s.OncewardServiceClient.CheckAndClaim(ctx, in, opts...)
	}
	result, err := s.stream.call(ctx, op)
	return answerOf(result.GetCheckAndClaim(), err)
}

func (s *streaming) ApplyIfNewer(ctx context.Context, in *oncewardv1.ApplyIfNewerRequest, opts ...grpc.CallOption) (*oncewardv1.ApplyIfNewerResponse, error) {
	op := encode(&oncewardv1.Operation{Operation: &oncewardv1.Operation_ApplyIfNewer{ApplyIfNewer: in}})
	if op == nil {
		return s.OncewardServiceClient.ApplyIfNewer(ctx, in, opts...)
	}
	result, err := s.stream.call(ctx, op)
	return answerOf(result.GetApplyIfNewer(), err)
}

func (s *streaming) Complete(ctx context.Context, in *oncewardv1.CompleteRequest, opts ...grpc.CallOption) (*oncewardv1.CompleteResponse, error) {
	op := encode(&oncewardv1.Operation{Operation: &oncewardv1.Operation_Complete{Complete: in}})
	if op == nil {
		return s.OncewardServiceClient.Complete(ctx, in, opts...)
	}
	result, err := s.stream.call(ctx, op)
	return answerOf(result.GetComplete(), err)
}

func (s *streaming) Release(ctx context.Context, in *oncewardv1.ReleaseRequest, opts ...grpc.CallOption) (*oncewardv1.ReleaseResponse, error) {
	op := encode(&oncewardv1.Operation{Operation: &oncewardv1.Operation_Release{Release: in}})
	if op == nil {
		return s.OncewardServiceClient.Release(ctx, in, opts...)
	}
	result, err := s.stream.call(ctx, op)
	return answerOf(result.GetRelease(), err)
}

func (s *streaming) ExtendLease(ctx context.Context, in *oncewardv1.ExtendLeaseRequest, opts ...grpc.CallOption) (*oncewardv1.ExtendLeaseResponse, error) {
	op := encode(&oncewardv1.Operation{Operation: &oncewardv1.Operation_ExtendLease{ExtendLease: in}})
	if op == nil {
		return s.OncewardServiceClient.ExtendLease(ctx, in, opts...)
	}
	result, err := s.stream.call(ctx, op)
	return answerOf(result.GetExtendLease(), err)
}

// answerOf guards against an answer to another kind of operation, or to none: it
// must not pass for a verdict.
func answerOf[R any](answer *R, err error) (*R, error) {
	if err == nil && answer == nil {
		err = status.Error(codes.Internal, "onceward: the stream's answer is not of the operation's kind")
	}
	return answer, err
}
