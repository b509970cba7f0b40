package client_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/onceward/onceward/client"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// streamInBubble runs a test in virtual time with a client that streams.
func streamInBubble(t *testing.T, f *fakeServer, test func(t *testing.T, c *client.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := f.start(t).WithStream()
		t.Cleanup(func() { c.Close() })
		test(t, c)
	})
}

// swallow reads requests, counts them and never answers.
func swallow(read *atomic.Int32) func(int, oncewardv1.OncewardService_StreamServer) error {
	return func(_ int, s oncewardv1.OncewardService_StreamServer) error {
		for {
			if _, err := s.Recv(); err != nil {
				return err
			}
			read.Add(1)
		}
	}
}

// claimFor asks with this much time and returns the error.
func claimFor(t *testing.T, c *client.Client, d time.Duration) error {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	_, err := c.CheckAndClaim(ctx, client.ClaimRequest{Namespace: "n", Key: "k"})
	return err
}

func TestStream_CarriesTheCalls(t *testing.T) {
	f := &fakeServer{}
	streamInBubble(t, f, func(t *testing.T, c *client.Client) {
		if f.opened() != 0 || c.WithStream() != c {
			t.Error("a stream was opened before it was needed, or twice")
		}
		ctx := t.Context()
		c.CheckAndClaim(ctx, client.ClaimRequest{})
		c.Apply(ctx, applyRequest())
		c.Complete(ctx, client.CompleteRequest{})
		c.Release(ctx, client.ReleaseRequest{})
		c.ExtendLease(ctx, client.ExtendLeaseRequest{})
		if n := len(f.claims) + len(f.applies) + len(f.completes) + len(f.releases) + len(f.extends); n != 5 || f.opened() != 1 {
			t.Errorf("%d calls, %d streams", n, f.opened())
		}
		for _, req := range f.claims {
			if len(req.GetRequestId()) != 32 {
				t.Errorf("the request id is %q: a repeat would not find its claim", req.GetRequestId())
			}
		}
	})
}

// Whoever waits must not keep a place from the Complete that it waits for.
func TestStream_WaitsAndLargeOperationsGoAlone(t *testing.T) {
	f := &fakeServer{stream: swallow(new(atomic.Int32))}
	streamInBubble(t, f, func(t *testing.T, c *client.Client) {
		if _, err := c.CheckAndClaim(t.Context(), client.ClaimRequest{Wait: time.Second}); err != nil {
			t.Error(err)
		}
		if _, err := c.Complete(t.Context(), client.CompleteRequest{Result: client.Result{Data: make([]byte, 300<<10)}}); err != nil {
			t.Error(err)
		}
	})
}

func TestStream_TheWindowIsBounded(t *testing.T) {
	var read atomic.Int32
	f := &fakeServer{stream: swallow(&read)}
	streamInBubble(t, f, func(t *testing.T, c *client.Client) {
		var callers sync.WaitGroup
		call := func(d time.Duration) {
			callers.Go(func() {
				started := time.Now()
				if err := claimFor(t, c, d); status.Code(err) != codes.DeadlineExceeded || time.Since(started) != d {
					t.Errorf("got %v after %v, want it after %v", err, time.Since(started), d)
				}
			})
		}
		for range 256 {
			call(5 * time.Second)
		}
		synctest.Wait()
		for range 1000 {
			call(time.Second)
		}
		time.Sleep(2 * time.Second)
		if n := read.Load(); n != 256 {
			t.Errorf("%d operations were sent", n)
		}
		callers.Wait()
		call(time.Second) // what was given up is still with the server
		callers.Wait()
		if n := read.Load(); n != 256 {
			t.Errorf("%d operations were sent after all had been given up", n)
		}
	})
}

func TestStream_OneThatIsStuckIsReplaced(t *testing.T) {
	f := &fakeServer{claim: func(n int, _ *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
		if n > 1 {
			time.Sleep(2 * time.Second)
		}
		return nil, nil
	}}
	f.stream = func(n int, s oncewardv1.OncewardService_StreamServer) error {
		if n == 1 {
			return swallow(new(atomic.Int32))(n, s)
		}
		return f.serveStream(s)
	}
	streamInBubble(t, f, func(t *testing.T, c *client.Client) {
		var callers sync.WaitGroup
		for range 256 {
			callers.Go(func() { claimFor(t, c, time.Second) })
		}
		callers.Wait()
		time.Sleep(time.Minute)
		claimFor(t, c, time.Second) // has no place, and finds out
		if err := claimFor(t, c, time.Second); err != nil || len(f.claims) != 1 {
			t.Errorf("got %v; %d operations were sent again for nobody", err, len(f.claims)-1)
		}
		if err := claimFor(t, c, time.Second); status.Code(err) != codes.DeadlineExceeded || strings.Contains(err.Error(), "before that") {
			t.Errorf("got %v, which should not blame the stream that is gone", err)
		}
	})
}

// A late answer is nobody's.
func TestStream_LateAnswersAreDropped(t *testing.T) {
	f := &fakeServer{claim: func(n int, req *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
		if n <= 100 {
			time.Sleep(1500 * time.Millisecond)
		} else {
			time.Sleep(time.Second)
		}
		return claimed(req, 1, nil), nil
	}}
	streamInBubble(t, f, func(t *testing.T, c *client.Client) {
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() { claimFor(t, c, time.Second) })
		}
		callers.Wait()
		for i := range 100 {
			callers.Go(func() { claimOwn(t, c, client.ClaimRequest{Namespace: "n", Key: fmt.Sprint(i)}) })
		}
		callers.Wait()
	})
}

func TestStream_RefusedForGood(t *testing.T) {
	for _, code := range []codes.Code{codes.Unimplemented, codes.PermissionDenied, codes.Unauthenticated} {
		f := &fakeServer{stream: func(int, oncewardv1.OncewardService_StreamServer) error { return status.Error(code, "no") }}
		streamInBubble(t, f, func(t *testing.T, c *client.Client) {
			for n := 1; n <= 2; n++ {
				started := time.Now()
				if err := claimFor(t, c, time.Minute); status.Code(err) != code || time.Since(started) != 0 || f.opened() != n {
					t.Errorf("%v: got %v after %v and %d streams", code, err, time.Since(started), f.opened())
				}
			}
		})
	}
}

func TestStream_ThatKeepsBreaking(t *testing.T) {
	for _, test := range []struct {
		end     error // of every stream, once it has read a request
		want    codes.Code
		streams int // at most
	}{
		{status.Error(codes.Internal, "a bug"), codes.Internal, 5},
		{errUnavailable, codes.DeadlineExceeded, 40},
		{nil, codes.DeadlineExceeded, 40},
	} {
		f := &fakeServer{stream: func(_ int, s oncewardv1.OncewardService_StreamServer) error { s.Recv(); return test.end }}
		streamInBubble(t, f, func(t *testing.T, c *client.Client) {
			err := claimFor(t, c, 30*time.Second)
			if status.Code(err) != test.want || f.opened() > test.streams || f.opened() < 5 {
				t.Errorf("%v: got %v after %d streams", test.end, err, f.opened())
			}
			if test.want == codes.DeadlineExceeded && !strings.Contains(err.Error(), "before that") {
				t.Errorf("the error does not say what was wrong: %v", err)
			}
			streams := f.opened()
			time.Sleep(time.Minute)
			if f.opened() > streams+1 {
				t.Errorf("%d streams were opened for nobody", f.opened()-streams)
			}
		})
	}
}

// Nothing but a verdict may pass for one.
func TestStream_AnswersThatAreNone(t *testing.T) {
	for _, test := range []struct {
		result *oncewardv1.OperationResult
		want   codes.Code
	}{
		{nil, codes.Internal},
		{&oncewardv1.OperationResult{}, codes.Internal},
		{&oncewardv1.OperationResult{Result: &oncewardv1.OperationResult_Complete{Complete: &oncewardv1.CompleteResponse{Outcome: client.Settled}}}, codes.Internal},
		{&oncewardv1.OperationResult{Result: &oncewardv1.OperationResult_Error{Error: &oncewardv1.OperationError{}}}, codes.Unknown},
	} {
		f := &fakeServer{stream: func(_ int, s oncewardv1.OncewardService_StreamServer) error {
			for {
				in, err := s.Recv()
				if err != nil {
					return err
				}
				s.Send(&oncewardv1.StreamResponse{Id: in.GetId() + 1000, Result: test.result}) // nobody's
				s.Send(&oncewardv1.StreamResponse{Id: in.GetId(), Result: test.result})
			}
		}}
		streamInBubble(t, f, func(t *testing.T, c *client.Client) {
			answer, err := c.CheckAndClaim(t.Context(), client.ClaimRequest{})
			if answer != nil || status.Code(err) != test.want {
				t.Errorf("%v: got %v, %v", test.result, answer, err)
			}
		})
	}
}

func TestStream_CloseLeavesNothingBehind(t *testing.T) {
	for name, closing := range map[string]func(base, streaming *client.Client){
		"the stream's": func(_, streaming *client.Client) { streaming.Close() },
		"the other":    func(base, _ *client.Client) { base.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			var read atomic.Int32
			f := &fakeServer{stream: swallow(&read)}
			base := f.start(t)
			streaming := base.WithStream()
			var callers sync.WaitGroup
			for range 300 {
				callers.Go(func() {
					if err := claimFor(t, streaming, generous); status.Code(err) != codes.Canceled {
						t.Errorf("in flight: %v", err)
					}
				})
			}
			eventually(t, "the window is full", func() bool { return read.Load() == 256 })
			closing(base, streaming)
			callers.Wait()
			eventually(t, "no goroutine of the stream is left", func() bool { return !strings.Contains(goroutines(), "multiplexer") })
			if err := claimFor(t, streaming, generous); status.Code(err) != codes.Canceled {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// Whoever brought the connection keeps it.
func TestStream_CloseLeavesTheCallersConnection(t *testing.T) {
	address, _ := servePlain(t, "tcp", "127.0.0.1:0")
	conn, err := grpc.NewClient(address.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	base := client.New(conn)
	streaming := base.WithStream()
	claimOwn(t, streaming, nth(1))
	if err := streaming.Close(); err != nil || strings.Contains(goroutines(), "multiplexer") {
		t.Errorf("Close: %v; the stream may be open", err)
	}
	if err := claimFor(t, streaming, generous); status.Code(err) != codes.Canceled {
		t.Errorf("over the closed stream: %v", err)
	}
	claimOwn(t, base, nth(2))
}

func goroutines() string {
	stacks := make([]byte, 1<<22)
	return string(stacks[:runtime.Stack(stacks, true)])
}
