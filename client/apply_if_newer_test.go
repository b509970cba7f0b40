package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/onceward/onceward/client"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

func applyRequest() client.ApplyRequest {
	return client.ApplyRequest{Namespace: "n", Entity: "charge-1", Version: client.Sequence(2), EventID: "evt_2"}
}

func TestApply_SendsEverything(t *testing.T) {
	f := &fakeServer{}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		version := client.Decimal("007")
		version.Epoch, version.Rank = 2, -3
		_, err := c.Apply(t.Context(), client.ApplyRequest{
			Namespace: "n", Consumer: "c", Entity: "charge-1", Version: version, EventID: "evt_1", State: "paid",
			RequestID: "mine", Retention: time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		want := &oncewardv1.ApplyIfNewerRequest{
			Namespace: "n", Consumer: "c", Entity: "charge-1", EventId: "evt_1", State: "paid", RequestId: "mine",
			Version:   &oncewardv1.Version{Epoch: 2, Value: &oncewardv1.Version_Decimal{Decimal: "007"}, Rank: -3},
			Retention: durationpb.New(time.Hour),
		}
		if diff := cmp.Diff(want, f.applies[0], protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		if _, err := c.Apply(t.Context(), applyRequest()); err != nil || f.applies[1].GetRetention() != nil {
			t.Errorf("an unset retention was sent: %v, %v", f.applies[1], err)
		}
	})
}

func TestApply_ReturnsEverything(t *testing.T) {
	current := &oncewardv1.EntityState{Version: client.Sequence(5), State: "paid", NeedsReconcile: true, ReconcileReason: "gap"}
	f := &fakeServer{apply: func(int, *oncewardv1.ApplyIfNewerRequest) (*oncewardv1.ApplyIfNewerResponse, error) {
		return &oncewardv1.ApplyIfNewerResponse{
			Outcome: client.Stale, Current: current, PreviousVersion: client.Sequence(4), FirstSeen: true, Reentrant: true, FillsGap: true,
			MissingCount: 1<<64 - 1, RetryAfter: durationpb.New(time.Second), Degraded: &oncewardv1.Degraded{Reason: "STORE_DOWN"},
			ShadowOutcome: client.Tie,
		}, nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		got, err := c.Apply(t.Context(), applyRequest())
		want := &client.ApplyResponse{
			Outcome: client.Stale, Current: current, PreviousVersion: client.Sequence(4), FirstSeen: true, Reentrant: true, FillsGap: true,
			MissingCount: 1<<64 - 1, RetryAfter: time.Second, Degraded: "STORE_DOWN", ShadowOutcome: client.Tie,
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || err != nil {
			t.Error(err, diff)
		}
	})
}

func TestApply_UnknownOutcomesAreErrors(t *testing.T) {
	for _, outcome := range []client.ApplyOutcome{0, 9, -1} {
		f := &fakeServer{apply: func(int, *oncewardv1.ApplyIfNewerRequest) (*oncewardv1.ApplyIfNewerResponse, error) {
			return &oncewardv1.ApplyIfNewerResponse{Outcome: outcome}, nil
		}}
		inBubble(t, f, func(t *testing.T, c *client.Client) {
			if answer, err := c.Apply(t.Context(), applyRequest()); !errors.Is(err, client.ErrUnknownOutcome) || answer != nil {
				t.Errorf("outcome %d: got %v, %v", outcome, answer, err)
			}
			if len(f.applies) != 1 {
				t.Errorf("outcome %d: asked %d times", outcome, len(f.applies))
			}
		})
	}
}

// A repeat under another id would find the watermark moved, and lose the event.
func TestApply_RepeatsAnUnansweredCallUnderTheSameRequestID(t *testing.T) {
	tests := map[string]struct {
		answered int // the call that is
		fail     func() error
	}{
		"unavailable":        {answered: 3, fail: func() error { return errUnavailable }},
		"gRPC has given up":  {answered: 7, fail: func() error { return errUnavailable }},
		"never answered":     {answered: 2, fail: func() error { time.Sleep(time.Minute); return errUnavailable }},
		"deadline elsewhere": {answered: 2, fail: func() error { return status.Error(codes.DeadlineExceeded, "scripted") }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := &fakeServer{apply: func(n int, _ *oncewardv1.ApplyIfNewerRequest) (*oncewardv1.ApplyIfNewerResponse, error) {
				if n < test.answered {
					return nil, test.fail()
				}
				return nil, nil
			}}
			inBubble(t, f, func(t *testing.T, c *client.Client) {
				answer, err := c.Apply(t.Context(), applyRequest())
				if err != nil || answer.Outcome != client.Applied || len(f.applies) != test.answered {
					t.Fatalf("got %v, %v after %d calls", answer, err, len(f.applies))
				}
				for _, req := range f.applies {
					if len(req.GetRequestId()) != 32 || req.GetRequestId() != f.applies[0].GetRequestId() {
						t.Errorf("request id %q, then %q", f.applies[0].GetRequestId(), req.GetRequestId())
					}
				}
				if _, err := c.Apply(t.Context(), applyRequest()); err != nil || f.applies[test.answered].GetRequestId() == f.applies[0].GetRequestId() {
					t.Errorf("another call had the same request id; %v", err)
				}
			})
		})
	}
}

func TestApply_GivesUp(t *testing.T) {
	f := &fakeServer{apply: func(int, *oncewardv1.ApplyIfNewerRequest) (*oncewardv1.ApplyIfNewerResponse, error) {
		time.Sleep(time.Minute)
		return nil, nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, test := range []struct {
			ctx         context.Context
			least, most time.Duration
		}{
			{short, time.Second, time.Second},
			{t.Context(), 10 * time.Second, 10*time.Second + 100*time.Millisecond},
		} {
			started := time.Now()
			_, err := c.Apply(test.ctx, applyRequest())
			if d := time.Since(started); status.Code(err) != codes.DeadlineExceeded || d < test.least || d > test.most {
				t.Errorf("got %v after %v, want it after %v to %v", err, d, test.least, test.most)
			}
		}
	})
	f = &fakeServer{apply: func(int, *oncewardv1.ApplyIfNewerRequest) (*oncewardv1.ApplyIfNewerResponse, error) {
		return nil, status.Error(codes.InvalidArgument, "version: is required")
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		if _, err := c.Apply(t.Context(), applyRequest()); status.Code(err) != codes.InvalidArgument || len(f.applies) != 1 {
			t.Errorf("got %v after %d calls, want no repeat of what can never succeed", err, len(f.applies))
		}
	})
}
