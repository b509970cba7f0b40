package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/onceward/onceward/client"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// waitForLoss works until its lease is lost, and then claims to have succeeded.
func waitForLoss(ctx context.Context, claim *client.Claim) (client.Result, error) {
	<-ctx.Done()
	if context.Cause(ctx) != client.ErrLeaseLost {
		return client.Result{}, context.Cause(ctx)
	}
	return succeed(ctx, claim)
}

// loseAt answers LOST to the nth renewal and all that follow.
func loseAt(n int) func(int, *oncewardv1.ExtendLeaseRequest) (*oncewardv1.ExtendLeaseResponse, error) {
	return func(i int, _ *oncewardv1.ExtendLeaseRequest) (*oncewardv1.ExtendLeaseResponse, error) {
		if i < n {
			return nil, nil
		}
		return &oncewardv1.ExtendLeaseResponse{Outcome: client.Lost, State: client.StateInProgress}, nil
	}
}

func completeLost(int, *oncewardv1.CompleteRequest) (*oncewardv1.CompleteResponse, error) {
	return &oncewardv1.CompleteResponse{Outcome: client.Lost, State: client.StateCompleted}, nil
}

func TestOnce_RenewsAtAThirdOfTheLease(t *testing.T) {
	f := &fakeServer{}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		_, err := c.Once(t.Context(), request(), func(ctx context.Context, _ *client.Claim) (client.Result, error) {
			time.Sleep(time.Minute)
			return client.Result{}, ctx.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := f.extensions(); n < 17 || n > 18 {
			t.Errorf("%d renewals of a 10 s lease in a minute, want one every 3.33 s", n)
		}
		if req := f.extends[0]; req.GetLease().AsDuration() != 10*time.Second || req.GetFencingToken() != fakeToken || req.GetEffectStarted() {
			t.Errorf("renewed with %v", req)
		}
	})
}

func TestOnce_DefaultLeaseIsSent(t *testing.T) {
	f := &fakeServer{}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		req := request()
		req.Lease = 0
		if _, err := c.Once(t.Context(), req, succeed); err != nil {
			t.Fatal(err)
		}
		if got := f.claims[0].GetLease().AsDuration(); got != client.DefaultLease {
			t.Errorf("asked for a lease of %v", got)
		}
	})
}

func TestOnce_LeaseTakenAway(t *testing.T) {
	f := &fakeServer{extend: loseAt(2), complete: completeLost}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		result, err := c.Once(t.Context(), request(), waitForLoss)
		if err != client.ErrLeaseLost || result.Data != nil {
			t.Errorf("got %+v, %v", result, err)
		}
		if f.extensions() != 2 {
			t.Errorf("%d renewals, want none after LOST", f.extensions())
		}
	})
}

func TestOnce_RenewalsThatFailAreRepeatedUntilTheLeaseIsOver(t *testing.T) {
	f := &fakeServer{
		complete: completeLost,
		extend: func(int, *oncewardv1.ExtendLeaseRequest) (*oncewardv1.ExtendLeaseResponse, error) {
			return nil, errUnavailable
		},
	}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		started := time.Now()
		_, err := c.Once(t.Context(), request(), func(ctx context.Context, claim *client.Claim) (client.Result, error) {
			result, err := waitForLoss(ctx, claim)
			if d := time.Since(started); d != 9*time.Second {
				t.Errorf("lost after %v, want a tenth before the lease of 10 s is over", d)
			}
			return result, err
		})
		if err != client.ErrLeaseLost {
			t.Errorf("got %v", err)
		}
		if f.extensions() < 10 {
			t.Errorf("only %d renewals were tried", f.extensions())
		}
	})
}

func TestOnce_RenewalsThatHangDoNotHoldTheLease(t *testing.T) {
	f := &fakeServer{
		complete: completeLost,
		extend: func(int, *oncewardv1.ExtendLeaseRequest) (*oncewardv1.ExtendLeaseResponse, error) {
			time.Sleep(time.Minute)
			return nil, nil
		},
	}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		started := time.Now()
		_, err := c.Once(t.Context(), request(), waitForLoss)
		if err != client.ErrLeaseLost || time.Since(started) != 9*time.Second {
			t.Errorf("got %v after %v", err, time.Since(started))
		}
	})
}

func TestOnce_RenewalCountsFromWhenItWasSent(t *testing.T) {
	f := &fakeServer{complete: completeLost}
	f.extend = func(n int, _ *oncewardv1.ExtendLeaseRequest) (*oncewardv1.ExtendLeaseResponse, error) {
		if n == 1 { // sent at 3.33 s, answered at 6.33 s
			time.Sleep(3 * time.Second)
			return nil, nil
		}
		return nil, errUnavailable
	}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		started := time.Now()
		c.Once(t.Context(), request(), waitForLoss)
		if d, want := time.Since(started), 9*time.Second+10*time.Second/3; d.Round(time.Millisecond) != want.Round(time.Millisecond) {
			t.Errorf("lost after %v, want %v", d, want)
		}
	})
}

func TestOnce_LateCompletionIsSuccess(t *testing.T) {
	f := &fakeServer{
		extend: func(int, *oncewardv1.ExtendLeaseRequest) (*oncewardv1.ExtendLeaseResponse, error) {
			return nil, errUnavailable
		},
		complete: func(int, *oncewardv1.CompleteRequest) (*oncewardv1.CompleteResponse, error) {
			return &oncewardv1.CompleteResponse{Outcome: client.Settled, Late: true, State: client.StateCompleted}, nil
		},
	}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		result, err := c.Once(t.Context(), request(), waitForLoss)
		if err != nil || string(result.Data) != "receipt" {
			t.Errorf("got %+v, %v", result, err)
		}
	})
}

func TestOnce_FunctionThatGivesUpAfterTheLossSaysSo(t *testing.T) {
	f := &fakeServer{extend: loseAt(1)}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		_, err := c.Once(t.Context(), request(), func(ctx context.Context, _ *client.Claim) (client.Result, error) {
			<-ctx.Done()
			return client.Result{}, ctx.Err()
		})
		if !errors.Is(err, client.ErrLeaseLost) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if f.releases[0].GetReason() != "lease lost" {
			t.Errorf("released with %v", f.releases)
		}
	})
}

func TestOnce_ReleaseThatFindsAnotherHolderSaysSo(t *testing.T) {
	f := &fakeServer{release: func(int, *oncewardv1.ReleaseRequest) (*oncewardv1.ReleaseResponse, error) {
		return &oncewardv1.ReleaseResponse{Outcome: client.Lost}, nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		_, err := c.Once(t.Context(), request(), failWith(errBoom))
		if !errors.Is(err, client.ErrLeaseLost) || !errors.Is(err, errBoom) {
			t.Errorf("got %v", err)
		}
	})
}

func TestOnce_ClaimAnsweredLateIsRenewedFirst(t *testing.T) {
	f := &fakeServer{claim: func(_ int, req *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
		time.Sleep(req.GetWait().AsDuration())
		return nil, nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		req := request()
		req.Wait = 25 * time.Second // much longer than the lease
		_, err := c.Once(t.Context(), req, func(ctx context.Context, claim *client.Claim) (client.Result, error) {
			if f.extensions() != 1 {
				t.Errorf("%d renewals before the function ran, want 1", f.extensions())
			}
			time.Sleep(8 * time.Second)
			return client.Result{}, ctx.Err()
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestOnce_ClaimLostBeforeItCouldBeUsed(t *testing.T) {
	f := &fakeServer{
		extend: loseAt(1),
		claim: func(int, *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
			time.Sleep(4 * time.Second)
			return nil, nil
		},
	}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		if _, err := c.Once(t.Context(), request(), mustNotRun(t)); err != client.ErrLeaseLost {
			t.Errorf("got %v", err)
		}
	})
}

func TestOnce_EffectStarted(t *testing.T) {
	f := &fakeServer{}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		_, err := c.Once(t.Context(), request(), func(ctx context.Context, claim *client.Claim) (client.Result, error) {
			if err := claim.EffectStarted(ctx); err != nil {
				t.Error(err)
			}
			return client.Result{}, errBoom
		})
		if err != errBoom {
			t.Errorf("got %v", err)
		}
		if !f.extends[0].GetEffectStarted() || f.extends[0].GetLease().AsDuration() != 10*time.Second {
			t.Errorf("said %v", f.extends)
		}
		if len(f.releases) != 1 || !f.releases[0].GetPark() {
			t.Errorf("released with %v, want parked", f.releases)
		}
	})
}

func TestOnce_EffectStartedIsToldOfTheLoss(t *testing.T) {
	f := &fakeServer{extend: loseAt(1), complete: completeLost}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		c.Once(t.Context(), request(), func(ctx context.Context, claim *client.Claim) (client.Result, error) {
			for range 2 {
				if err := claim.EffectStarted(ctx); err != client.ErrLeaseLost {
					t.Errorf("got %v", err)
				}
			}
			if context.Cause(ctx) != client.ErrLeaseLost {
				t.Errorf("cause %v", context.Cause(ctx))
			}
			return client.Result{}, nil
		})
		if f.extensions() != 1 {
			t.Errorf("asked %d times, want no question after LOST", f.extensions())
		}
	})
}

// The mark of an earlier attempt sticks, and so does one whose reply was lost:
// the service then refuses a plain release.
func TestOnce_ParksWhereAReleaseIsRefused(t *testing.T) {
	refusal, err := status.New(codes.FailedPrecondition, "effect started").
		WithDetails(&errdetails.ErrorInfo{Domain: "onceward.v1", Reason: "EFFECT_STARTED"})
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeServer{release: func(_ int, req *oncewardv1.ReleaseRequest) (*oncewardv1.ReleaseResponse, error) {
		if !req.GetPark() {
			return nil, refusal.Err()
		}
		return nil, nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		if _, err := c.Once(t.Context(), request(), failWith(errBoom)); err != errBoom {
			t.Errorf("got %v", err)
		}
		if len(f.releases) != 2 || !f.releases[1].GetPark() {
			t.Errorf("released with %v", f.releases)
		}
	})
}
