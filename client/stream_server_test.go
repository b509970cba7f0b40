package client_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/onceward/onceward/client"
)

const streamCallers = 64

func startStreaming(t *testing.T, s *realServer) *client.Client {
	t.Helper()
	c, err := client.Dial(s.target)
	if err != nil {
		t.Fatal(err)
	}
	c = c.WithStream()
	t.Cleanup(func() { c.Close() })
	return c
}

// concurrently calls call with the numbers from 0 up to n, from many goroutines.
func concurrently(n int, call func(i int)) {
	var callers sync.WaitGroup
	for caller := range streamCallers {
		callers.Go(func() {
			for i := caller; i < n; i += streamCallers {
				call(i)
			}
		})
	}
	callers.Wait()
}

func nth(i int) client.ClaimRequest {
	return client.ClaimRequest{Namespace: "stripe-live", Key: fmt.Sprintf("evt_%d", i), Lease: time.Minute}
}

// claimOwn wants a claim of the key, and of no other.
func claimOwn(t *testing.T, c *client.Client, req client.ClaimRequest) {
	t.Helper()
	answer, err := c.CheckAndClaim(t.Context(), req)
	if err != nil || answer.Outcome != client.Claimed || answer.Key != req.Key || answer.Attempt != 1 {
		t.Errorf("%s: got %+v, %v", req.Key, answer, err)
	}
}

func TestStream_EveryCallerGetsItsOwnAnswer(t *testing.T) {
	c := startStreaming(t, startServer(t))
	concurrently(200*streamCallers, func(i int) { claimOwn(t, c, nth(i)) })
}

func TestStream_WhatIsCancelledHarmsNoOther(t *testing.T) {
	c := startStreaming(t, startServer(t))
	var cancelled atomic.Int32
	concurrently(2000, func(i int) {
		ctx, cancel := context.WithTimeout(t.Context(), rand.N(2*time.Millisecond))
		defer cancel()
		if i%2 == 0 { // the other way for a context to end
			time.AfterFunc(rand.N(2*time.Millisecond), cancel)
		}
		req := nth(i)
		req.Fingerprint = []byte{1}
		answer, err := c.CheckAndClaim(ctx, req)
		req.Fingerprint[0]++ // the caller's again, whatever is still under way
		switch code := status.Code(err); {
		case code == codes.Canceled || code == codes.DeadlineExceeded:
			cancelled.Add(1)
		case err != nil || answer.Key != req.Key:
			t.Errorf("%s: got %+v, %v", req.Key, answer, err)
		}
	})
	if cancelled.Load() == 0 {
		t.Error("nothing was cancelled")
	}
	concurrently(200, func(i int) { claimOwn(t, c, nth(10_000+i)) })
	t.Logf("%d of 2000 were cancelled", cancelled.Load())
}

// No call may fail, and none may be done twice, because of a server that ends
// and comes back.
func TestStream_OutlivesTheServer(t *testing.T) {
	for name, end := range map[string]os.Signal{"killed": syscall.SIGKILL, "drained": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			s := startServerOn(t, startRedis(t), "")
			c := startStreaming(t, s)
			var stop atomic.Bool
			var next, reentrant atomic.Int64
			var load sync.WaitGroup
			for range streamCallers {
				load.Go(func() {
					for !stop.Load() && !t.Failed() {
						if claimAndComplete(t, c, int(next.Add(1))) {
							reentrant.Add(1)
						}
					}
				})
			}
			for range 4 {
				time.Sleep(300 * time.Millisecond)
				s.restart(t, end)
			}
			time.Sleep(300 * time.Millisecond)
			stop.Store(true)
			load.Wait()
			t.Logf("%d claims, %d of them found themselves again", next.Load(), reentrant.Load())
		})
	}
}

// claimAndComplete reports whether a repeat was needed.
func claimAndComplete(t *testing.T, c *client.Client, i int) bool {
	ctx, cancel := context.WithTimeout(t.Context(), generous)
	defer cancel()
	claim, err := c.CheckAndClaim(ctx, nth(i))
	if err != nil || claim.Outcome != client.Claimed || claim.Key != nth(i).Key || claim.Attempt != 1 || claim.Takeover != nil {
		t.Errorf("claiming %d: %+v, %v", i, claim, err)
		return false
	}
	done, err := c.Complete(ctx, client.CompleteRequest{Ref: nth(i).Ref(), FencingToken: claim.FencingToken})
	if err != nil || done.State != client.StateCompleted || done.Recreated || done.Outcome == client.Lost {
		t.Errorf("completing %d: %+v, %v", i, done, err)
		return false
	}
	return claim.Reentrant || done.Outcome == client.AlreadySettled
}

// An error over a stream is that of the call.
func TestStream_ErrorsAreThoseOfTheCalls(t *testing.T) {
	s := startServer(t)
	streaming := startStreaming(t, s)
	started := nth(1)
	started.RequestID = "r"
	held, err := s.client.CheckAndClaim(t.Context(), started)
	if err != nil {
		t.Fatal(err)
	}
	mine := client.ExtendLeaseRequest{Ref: started.Ref(), FencingToken: held.FencingToken, EffectStarted: true}
	if _, err := s.client.ExtendLease(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	wrong := client.Ref{Namespace: "no spaces", Key: "k"}
	ordered := nth(2)
	ordered.Order = &client.Order{Entity: "e", Version: client.Sequence(1)}
	for name, call := range map[string]func(*client.Client) error{
		"claim": func(c *client.Client) error {
			_, err := c.CheckAndClaim(t.Context(), client.ClaimRequest{})
			return err
		},
		"routing": func(c *client.Client) error { _, err := c.CheckAndClaim(t.Context(), ordered); return err },
		"apply":   func(c *client.Client) error { _, err := c.Apply(t.Context(), client.ApplyRequest{}); return err },
		"complete": func(c *client.Client) error {
			_, err := c.Complete(t.Context(), client.CompleteRequest{Ref: wrong, FencingToken: 1})
			return err
		},
		"extend": func(c *client.Client) error {
			_, err := c.ExtendLease(t.Context(), client.ExtendLeaseRequest{Ref: wrong, FencingToken: 1})
			return err
		},
		"effect started": func(c *client.Client) error {
			_, err := c.Release(t.Context(), client.ReleaseRequest{Ref: started.Ref(), FencingToken: held.FencingToken})
			return err
		},
		"not UTF-8": func(c *client.Client) error {
			_, err := c.CheckAndClaim(t.Context(), client.ClaimRequest{Namespace: "n", Key: "\xff"})
			return err
		},
		"too large for the server": func(c *client.Client) error {
			_, err := c.Complete(t.Context(), client.CompleteRequest{Ref: started.Ref(), Result: client.Result{Data: make([]byte, 9<<20)}})
			return err
		},
	} {
		own, streamed := call(s.client), call(streaming)
		if own == nil || streamed == nil || own.Error() != streamed.Error() || client.Reason(own) != client.Reason(streamed) || status.Code(own) != status.Code(streamed) {
			t.Errorf("%s: %v (%s), over a stream %v (%s)", name, own, client.Reason(own), streamed, client.Reason(streamed))
		}
	}
}

func TestStream_CallsAfterCloseAreCanceled(t *testing.T) {
	s := startServer(t)
	c := startStreaming(t, s)
	claimOwn(t, c, nth(1))
	if err := errors.Join(c.Close(), s.client.Close()); err != nil {
		t.Error(err)
	}
	if _, err := c.CheckAndClaim(t.Context(), nth(2)); status.Code(err) != codes.Canceled {
		t.Errorf("after Close: %v", err)
	}
}
