package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/onceward/onceward/client"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

func TestOnce_LostReplyToACompletion(t *testing.T) {
	f := &fakeServer{complete: func(n int, _ *oncewardv1.CompleteRequest) (*oncewardv1.CompleteResponse, error) {
		if n == 1 {
			time.Sleep(6 * time.Second) // recorded, but the reply comes after the deadline
			return nil, nil
		}
		return &oncewardv1.CompleteResponse{Outcome: client.AlreadySettled, State: client.StateCompleted}, nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		result, err := c.Once(t.Context(), request(), succeed)
		if err != nil || string(result.Data) != "receipt" {
			t.Errorf("got %+v, %v", result, err)
		}
		if len(f.completes) != 2 || f.completes[1].GetFencingToken() != fakeToken {
			t.Errorf("completed with %v", f.completes)
		}
	})
}

func TestOnce_CompletionOutlivesAnOutageWithinTheLease(t *testing.T) {
	f := &fakeServer{complete: func(n int, _ *oncewardv1.CompleteRequest) (*oncewardv1.CompleteResponse, error) {
		if n == 1 {
			time.Sleep(4 * time.Second)
		}
		if n <= 18 {
			return nil, errUnavailable
		}
		return nil, nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		if _, err := c.Once(t.Context(), request(), succeed); err != nil {
			t.Errorf("got %v", err)
		}
		if f.extensions() == 0 {
			t.Error("the lease was not renewed while the completion was repeated")
		}
	})
}

func TestOnce_UnrecordedEffect(t *testing.T) {
	down := func(int, *oncewardv1.CompleteRequest) (*oncewardv1.CompleteResponse, error) {
		return nil, errUnavailable
	}
	tests := map[string]struct {
		complete func(int, *oncewardv1.CompleteRequest) (*oncewardv1.CompleteResponse, error)
		tries    int
		code     codes.Code
		parked   bool
	}{
		"service gone": {complete: down, tries: 25, code: codes.Unavailable},
		"result refused": {
			complete: func(int, *oncewardv1.CompleteRequest) (*oncewardv1.CompleteResponse, error) {
				return nil, status.Error(codes.InvalidArgument, "result: at most 65536 bytes")
			},
			tries: 1, code: codes.InvalidArgument, parked: true,
		},
		"released behind our back": {
			complete: func(int, *oncewardv1.CompleteRequest) (*oncewardv1.CompleteResponse, error) {
				return &oncewardv1.CompleteResponse{Outcome: client.AlreadySettled, State: client.StateReleased}, nil
			},
			tries: 1, code: codes.Unknown,
		},
		"unknown answer": {
			complete: func(int, *oncewardv1.CompleteRequest) (*oncewardv1.CompleteResponse, error) {
				return &oncewardv1.CompleteResponse{Outcome: 99}, nil
			},
			tries: 5, code: codes.Unknown,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := &fakeServer{complete: test.complete}
			inBubble(t, f, func(t *testing.T, c *client.Client) {
				_, err := c.Once(t.Context(), request(), succeed)
				var unrecorded *client.UnrecordedError
				if !errors.As(err, &unrecorded) || string(unrecorded.Result.Data) != "receipt" || status.Code(unrecorded.Err) != test.code {
					t.Errorf("got %v", err)
				}
				if len(f.completes) != test.tries {
					t.Errorf("%d completions were sent, want %d", len(f.completes), test.tries)
				}
				if parked := len(f.releases) == 1 && f.releases[0].GetPark(); parked != test.parked || len(f.releases) > 1 {
					t.Errorf("released with %v, want parked: %v", f.releases, test.parked)
				}
			})
		})
	}
}

func TestOnce_DegradedClaimIsCompletedWithoutALease(t *testing.T) {
	f := &fakeServer{claim: func(int, *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
		return &oncewardv1.CheckAndClaimResponse{Outcome: client.Claimed, Key: "evt_1", Attempt: 1, Degraded: &oncewardv1.Degraded{Reason: "STORE_DOWN"}}, nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		_, err := c.Once(t.Context(), request(), func(ctx context.Context, claim *client.Claim) (client.Result, error) {
			if claim.Degraded != "STORE_DOWN" {
				t.Errorf("degraded: %q", claim.Degraded)
			}
			time.Sleep(time.Minute)
			return client.Result{}, errors.Join(ctx.Err(), claim.EffectStarted(ctx))
		})
		if err != nil || f.extensions() != 0 || len(f.completes) != 1 || f.completes[0].GetFencingToken() != 0 {
			t.Errorf("got %v, extended %v, completed %v", err, f.extends, f.completes)
		}
		if _, err := c.Once(t.Context(), request(), failWith(errBoom)); err != errBoom || len(f.releases) != 0 {
			t.Errorf("got %v, released with %v", err, f.releases)
		}
	})
}

func TestOnce_ShadowModeSettlesNothingThatIsNotItsOwn(t *testing.T) {
	f := &fakeServer{claim: func(int, *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
		return &oncewardv1.CheckAndClaimResponse{Outcome: client.Claimed, ShadowOutcome: client.Duplicate}, nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		result, err := c.Once(t.Context(), request(), succeed)
		if err != nil || string(result.Data) != "receipt" || len(f.completes)+len(f.releases) > 0 {
			t.Errorf("got %+v, %v; completed %v, released %v", result, err, f.completes, f.releases)
		}
	})
}
