package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/onceward/onceward/client"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

func TestCheckAndClaim_SendsEverything(t *testing.T) {
	f := &fakeServer{}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		version := client.Sequence(1<<64 - 1)
		version.Epoch, version.Rank = 2, 3
		_, err := c.CheckAndClaim(t.Context(), client.ClaimRequest{
			Namespace: "n", Consumer: "c", Key: "k", KeyParts: []string{"a", "b"}, RequestID: "mine",
			Lease: time.Second, Retention: time.Hour, Fingerprint: []byte{0, 1}, Owner: "w1",
			Order: &client.Order{Entity: "charge-1", Version: version, State: "paid"},
			Final: true, Wait: 1500 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		want := &oncewardv1.CheckAndClaimRequest{
			Namespace: "n", Consumer: "c", Key: "k", KeyParts: []string{"a", "b"}, RequestId: "mine",
			Lease: durationpb.New(time.Second), Retention: durationpb.New(time.Hour), Fingerprint: []byte{0, 1}, Owner: "w1",
			Order: &oncewardv1.Order{Entity: "charge-1", State: "paid", Version: &oncewardv1.Version{
				Epoch: 2, Value: &oncewardv1.Version_Sequence{Sequence: 1<<64 - 1}, Rank: 3,
			}},
			Final: true, Wait: durationpb.New(1500 * time.Millisecond),
		}
		if diff := cmp.Diff(want, f.claims[0], protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestCalls_LeaveZeroDurationsUnset(t *testing.T) {
	f := &fakeServer{}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		ctx, ref := t.Context(), client.Ref{Namespace: "n", Key: "k", Entity: "e"}
		_, err1 := c.CheckAndClaim(ctx, client.ClaimRequest{Namespace: "n", Key: "k", RequestID: "r"})
		_, err2 := c.Complete(ctx, client.CompleteRequest{Ref: ref, FencingToken: 7})
		_, err3 := c.Release(ctx, client.ReleaseRequest{Ref: ref, FencingToken: 7})
		_, err4 := c.ExtendLease(ctx, client.ExtendLeaseRequest{Ref: ref, FencingToken: 7})
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		for _, diff := range []string{
			cmp.Diff(&oncewardv1.CheckAndClaimRequest{Namespace: "n", Key: "k", RequestId: "r"}, f.claims[0], protocmp.Transform()),
			cmp.Diff(&oncewardv1.CompleteRequest{Namespace: "n", Key: "k", Entity: "e", FencingToken: 7}, f.completes[0], protocmp.Transform()),
			cmp.Diff(&oncewardv1.ReleaseRequest{Namespace: "n", Key: "k", Entity: "e", FencingToken: 7}, f.releases[0], protocmp.Transform()),
			cmp.Diff(&oncewardv1.ExtendLeaseRequest{Namespace: "n", Key: "k", Entity: "e", FencingToken: 7}, f.extends[0], protocmp.Transform()),
		} {
			if diff != "" {
				t.Error(diff)
			}
		}
	})
}

func TestCalls_UnknownOutcomesAreErrors(t *testing.T) {
	for _, outcome := range []int32{0, 4, -1} {
		f := &fakeServer{
			complete: func(int, *oncewardv1.CompleteRequest) (*oncewardv1.CompleteResponse, error) {
				return &oncewardv1.CompleteResponse{Outcome: client.SettleOutcome(outcome)}, nil
			},
			release: func(int, *oncewardv1.ReleaseRequest) (*oncewardv1.ReleaseResponse, error) {
				return &oncewardv1.ReleaseResponse{Outcome: client.SettleOutcome(outcome)}, nil
			},
			extend: func(int, *oncewardv1.ExtendLeaseRequest) (*oncewardv1.ExtendLeaseResponse, error) {
				return &oncewardv1.ExtendLeaseResponse{Outcome: client.SettleOutcome(outcome)}, nil
			},
		}
		inBubble(t, f, func(t *testing.T, c *client.Client) {
			_, err1 := c.Complete(t.Context(), client.CompleteRequest{})
			_, err2 := c.Release(t.Context(), client.ReleaseRequest{})
			_, err3 := c.ExtendLease(t.Context(), client.ExtendLeaseRequest{})
			for _, err := range []error{err1, err2, err3} {
				if !errors.Is(err, client.ErrUnknownOutcome) {
					t.Errorf("outcome %d: got %v", outcome, err)
				}
			}
		})
	}
}

func TestCheckAndClaim_Deadline(t *testing.T) {
	f := &fakeServer{claim: func(int, *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
		time.Sleep(time.Minute)
		return nil, nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, test := range []struct {
			ctx        context.Context
			wait, want time.Duration
		}{
			{short, 0, time.Second},
			{t.Context(), 0, 5 * time.Second},
			{t.Context(), 10 * time.Second, 15 * time.Second},
		} {
			started := time.Now()
			_, err := c.CheckAndClaim(test.ctx, client.ClaimRequest{Wait: test.wait})
			if status.Code(err) != codes.DeadlineExceeded || time.Since(started) != test.want {
				t.Errorf("got %v after %v, want it after %v", err, time.Since(started), test.want)
			}
		}
	})
}

func TestReason(t *testing.T) {
	of := func(domain string) error {
		s, err := status.New(codes.ResourceExhausted, "no room").
			WithDetails(&errdetails.RetryInfo{}, &errdetails.ErrorInfo{Domain: domain, Reason: "STORE_FULL"})
		if err != nil {
			t.Fatal(err)
		}
		return s.Err()
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errBoom, ""},
		{status.Error(codes.Unavailable, "no detail"), ""},
		{of("onceward.v1"), "STORE_FULL"},
		{fmt.Errorf("claiming: %w", of("onceward.v1")), "STORE_FULL"},
		{&client.UnrecordedError{Err: of("onceward.v1")}, "STORE_FULL"},
		{of("envoy"), ""},
	} {
		if got := client.Reason(test.err); got != test.want {
			t.Errorf("Reason(%v) = %q, want %q", test.err, got, test.want)
		}
	}
}

func TestVersions(t *testing.T) {
	at := time.Date(2026, 1, 31, 12, 0, 0, 1, time.FixedZone("", -3*3600))
	if got := client.Timestamp(at).GetTimestamp().AsTime(); !got.Equal(at) {
		t.Errorf("got %v", got)
	}
	if got := client.Decimal("018446744073709551616").GetDecimal(); got != "018446744073709551616" {
		t.Errorf("got %v", got)
	}
}
