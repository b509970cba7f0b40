package client_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/onceward/onceward/client"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

var errBoom = errors.New("boom: card 4111")

// request asks for a lease of ten seconds: renewed at 3.33 s, lost at 9 s.
func request() client.ClaimRequest {
	return client.ClaimRequest{Namespace: "stripe-live", Consumer: "ledger", Key: "evt_1", Lease: 10 * time.Second}
}

func succeed(context.Context, *client.Claim) (client.Result, error) {
	return client.Result{Data: []byte("receipt"), Type: "text/plain"}, nil
}

func failWith(err error) client.Func {
	return func(context.Context, *client.Claim) (client.Result, error) { return client.Result{}, err }
}

func mustNotRun(t *testing.T) client.Func {
	return func(context.Context, *client.Claim) (client.Result, error) {
		t.Error("the function ran")
		return client.Result{}, nil
	}
}

// inBubble runs a test against f in virtual time, by calls and then over a stream.
func inBubble(t *testing.T, f *fakeServer, test func(t *testing.T, c *client.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, f.start(t)) })
	f.forget()
	t.Run("over a stream", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := f.start(t).WithStream()
			t.Cleanup(func() { c.Close() })
			test(t, c)
		})
	})
}

func TestOnce_CompletesWithTheResult(t *testing.T) {
	f := &fakeServer{}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		got, err := c.Once(t.Context(), request(), succeed)
		if err != nil {
			t.Fatal(err)
		}
		if want := (client.Result{Data: []byte("receipt"), Type: "text/plain"}); !cmp.Equal(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		done := f.completes[0]
		if len(f.completes) != 1 || done.GetFencingToken() != fakeToken || string(done.GetResult()) != "receipt" ||
			done.GetResultType() != "text/plain" || done.GetFailed() || done.GetKey() != "evt_1" {
			t.Errorf("completed with %v", f.completes)
		}
	})
}

func TestOnce_TellsTheFunctionAboutItsAttempt(t *testing.T) {
	f := &fakeServer{claim: func(_ int, req *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
		return claimed(req, 3, &oncewardv1.Takeover{PreviousAttempt: 2, PreviousOwner: "worker-9", EffectStarted: true}), nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		_, err := c.Once(t.Context(), request(), func(_ context.Context, claim *client.Claim) (client.Result, error) {
			want := client.Takeover{PreviousAttempt: 2, PreviousOwner: "worker-9", EffectStarted: true}
			if claim.Key != "evt_1" || claim.FencingToken != fakeToken || claim.Attempt != 3 || *claim.Takeover != want {
				t.Errorf("got %v %v %v %+v", claim.Key, claim.FencingToken, claim.Attempt, claim.Takeover)
			}
			return client.Result{}, nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestOnce_RunsNothingUnlessClaimed(t *testing.T) {
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	is := func(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
	tests := map[string]struct {
		answer *oncewardv1.CheckAndClaimResponse
		result client.Result
		err    func(error) bool
	}{
		"duplicate": {
			answer: &oncewardv1.CheckAndClaimResponse{Outcome: client.Duplicate, Result: []byte{0, 0xff}, ResultType: "x", CompletedAt: timestamp(at)},
			result: client.Result{Data: []byte{0, 0xff}, Type: "x", Replayed: true, CompletedAt: at},
			err:    func(err error) bool { return err == nil },
		},
		"duplicate with expired result": {
			answer: &oncewardv1.CheckAndClaimResponse{Outcome: client.Duplicate, ResultExpired: true},
			result: client.Result{Replayed: true, Expired: true},
			err:    func(err error) bool { return err == nil },
		},
		"failed": {
			answer: &oncewardv1.CheckAndClaimResponse{Outcome: client.Failed, Result: []byte("no such order")},
			result: client.Result{Data: []byte("no such order"), Replayed: true},
			err: func(err error) bool {
				var failed *client.FailedError
				return errors.As(err, &failed) && string(failed.Result.Data) == "no such order" && failed.Result.Replayed
			},
		},
		"in progress": {
			answer: inProgress(1500 * time.Millisecond),
			err: func(err error) bool {
				var busy *client.InProgressError
				return errors.As(err, &busy) && busy.RetryAfter == 1500*time.Millisecond
			},
		},
		"parked":   {answer: &oncewardv1.CheckAndClaimResponse{Outcome: client.Parked}, err: is(client.ErrParked)},
		"conflict": {answer: &oncewardv1.CheckAndClaimResponse{Outcome: client.Conflict}, err: is(client.ErrConflict)},
		"needs reconcile": {
			answer: &oncewardv1.CheckAndClaimResponse{Outcome: client.NeedsReconcile, Takeover: &oncewardv1.Takeover{PreviousAttempt: 1, EffectStarted: true}},
			err: func(err error) bool {
				var reconcile *client.NeedsReconcileError
				return errors.As(err, &reconcile) && reconcile.Takeover.PreviousAttempt == 1
			},
		},
		"out of order": {
			answer: &oncewardv1.CheckAndClaimResponse{Outcome: client.OutOfOrder, OrderOutcome: client.Stale},
			err: func(err error) bool {
				var late *client.OutOfOrderError
				return errors.As(err, &late) && late.Outcome == client.Stale
			},
		},
		"out of order, but why": {answer: &oncewardv1.CheckAndClaimResponse{Outcome: client.OutOfOrder}, err: is(client.ErrUnknownOutcome)},
		"out of order, applied": {
			answer: &oncewardv1.CheckAndClaimResponse{Outcome: client.OutOfOrder, OrderOutcome: client.Applied}, err: is(client.ErrUnknownOutcome),
		},
		"out of order, unknown": {
			answer: &oncewardv1.CheckAndClaimResponse{Outcome: client.OutOfOrder, OrderOutcome: 9}, err: is(client.ErrUnknownOutcome),
		},
		"no outcome":      {answer: &oncewardv1.CheckAndClaimResponse{FencingToken: fakeToken}, err: is(client.ErrUnknownOutcome)},
		"unknown outcome": {answer: &oncewardv1.CheckAndClaimResponse{Outcome: 99, FencingToken: fakeToken}, err: is(client.ErrUnknownOutcome)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := &fakeServer{claim: func(int, *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
				return test.answer, nil
			}}
			inBubble(t, f, func(t *testing.T, c *client.Client) {
				result, err := c.Once(t.Context(), request(), mustNotRun(t))
				if !test.err(err) || !cmp.Equal(result, test.result) {
					t.Errorf("got %+v, %v", result, err)
				}
				if len(f.claims) != 1 || len(f.completes)+len(f.releases)+len(f.extends) > 0 {
					t.Error("called more than CheckAndClaim once")
				}
			})
		})
	}
}

func TestOnce_RefusesWhatItCannotKeep(t *testing.T) {
	f := &fakeServer{}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		final, named := request(), request()
		final.Final = true
		named.RequestID = "mine"
		for _, req := range []client.ClaimRequest{final, named} {
			if _, err := c.Once(t.Context(), req, mustNotRun(t)); err == nil {
				t.Errorf("accepted %+v", req)
			}
		}
	})
}

func TestOnce_RepeatsCarryOneRequestID(t *testing.T) {
	f := &fakeServer{claim: func(n int, _ *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
		if n%4 != 0 { // each Once needs three repeats
			return nil, errUnavailable
		}
		return nil, nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		for range 2 {
			if _, err := c.Once(t.Context(), request(), succeed); err != nil {
				t.Fatal(err)
			}
		}
		var ids []string
		for _, req := range f.claims {
			ids = append(ids, req.GetRequestId())
		}
		if len(ids) != 8 || ids[0] != ids[3] || ids[4] != ids[7] || ids[0] == ids[4] {
			t.Errorf("request ids %q", ids)
		}
		if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(ids[0]) {
			t.Errorf("request id %q is not 128 bits in hex", ids[0])
		}
	})
}

func TestOnce_AsksAgainForAClaimWhoseReplyNeverCame(t *testing.T) {
	f := &fakeServer{claim: func(n int, req *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
		if n == 1 {
			time.Sleep(6 * time.Second) // longer than a call's own deadline
		}
		return nil, nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		if _, err := c.Once(t.Context(), request(), succeed); err != nil {
			t.Fatal(err)
		}
		if len(f.claims) != 2 || f.claims[0].GetRequestId() != f.claims[1].GetRequestId() {
			t.Errorf("claims: %v", f.claims)
		}
	})
}

func TestOnce_ReportsAServiceThatCannotBeAsked(t *testing.T) {
	f := &fakeServer{claim: func(int, *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
		return nil, errUnavailable
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		_, err := c.Once(t.Context(), request(), mustNotRun(t))
		if status.Code(err) != codes.Unavailable {
			t.Errorf("got %v", err)
		}
	})
}

func TestOnce_WaitsForTheHolder(t *testing.T) {
	f := &fakeServer{claim: func(n int, req *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
		switch n {
		case 1: // waited in vain
			time.Sleep(req.GetWait().AsDuration())
			return inProgress(5 * time.Second), nil
		case 2: // too many waiters
			return inProgress(5 * time.Second), nil
		case 3: // another event of the entity
			return &oncewardv1.CheckAndClaimResponse{Outcome: client.OutOfOrder, OrderOutcome: client.Busy}, nil
		}
		return &oncewardv1.CheckAndClaimResponse{Outcome: client.Duplicate}, nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		req := request()
		req.Wait = 40 * time.Second
		started := time.Now()
		result, err := c.Once(t.Context(), req, mustNotRun(t))
		if err != nil || !result.Replayed {
			t.Fatal(result, err)
		}
		if d := time.Since(started); d < 31*time.Second || d > 32500*time.Millisecond {
			t.Errorf("waited %v, want 30 s and three pauses", d)
		}
		if first, second := f.claims[0].GetWait().AsDuration(), f.claims[1].GetWait().AsDuration(); first != 30*time.Second || second > 10*time.Second {
			t.Errorf("asked for waits of %v, %v", first, second)
		}
		if f.claims[0].GetRequestId() != f.claims[3].GetRequestId() {
			t.Error("the request id changed while waiting")
		}
	})
}

func TestOnce_StopsWaitingInTime(t *testing.T) {
	f := &fakeServer{claim: func(int, *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
		return inProgress(time.Hour), nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		req := request()
		req.Wait = 3 * time.Second
		started := time.Now()
		_, err := c.Once(t.Context(), req, mustNotRun(t))
		var busy *client.InProgressError
		if !errors.As(err, &busy) || busy.RetryAfter != time.Hour {
			t.Errorf("got %v", err)
		}
		if d := time.Since(started); d != 3*time.Second {
			t.Errorf("waited %v", d)
		}
		if last := f.claims[len(f.claims)-1]; last.GetWait() != nil {
			t.Errorf("the last question still asked to wait: %v", last)
		}
	})
}

func TestOnce_FunctionFails(t *testing.T) {
	long := strings.Repeat("ã", 600)
	tests := map[string]struct {
		err        error
		reason     string
		retryAfter time.Duration
		park       bool
	}{
		"plain":      {err: fmt.Errorf("charge: %w", errBoom), reason: "error (*errors.errorString)"},
		"deadline":   {err: fmt.Errorf("charge: %w", context.DeadlineExceeded), reason: "deadline exceeded"},
		"cancelled":  {err: context.Canceled, reason: "canceled"},
		"grpc":       {err: status.Error(codes.Internal, "card 4111"), reason: "grpc Internal"},
		"reason":     {err: &client.ReleaseError{Err: errBoom, Reason: "acquirer down"}, reason: "acquirer down"},
		"long":       {err: &client.ReleaseError{Err: errBoom, Reason: "x" + long}, reason: "x" + long[:1022]},
		"not UTF-8":  {err: &client.ReleaseError{Err: errBoom, Reason: "a\xffb"}, reason: "ab"},
		"later":      {err: &client.ReleaseError{Err: errBoom, Reason: "r", RetryAfter: time.Minute}, reason: "r", retryAfter: time.Minute},
		"park":       {err: &client.ReleaseError{Err: errBoom, Park: true}, reason: "error (*errors.errorString)", park: true},
		"park later": {err: &client.ReleaseError{Err: errBoom, Reason: "r", Park: true, RetryAfter: time.Minute}, reason: "r", park: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := &fakeServer{}
			inBubble(t, f, func(t *testing.T, c *client.Client) {
				_, err := c.Once(t.Context(), request(), failWith(test.err))
				if err != test.err {
					t.Errorf("got error %v, want the function's own", err)
				}
				got := f.releases[0]
				if len(f.completes) != 0 || len(f.releases) != 1 || got.GetFencingToken() != fakeToken || got.GetReason() != test.reason ||
					got.GetRetryAfter().AsDuration() != test.retryAfter || got.GetPark() != test.park {
					t.Errorf("released with %v", f.releases)
				}
			})
		})
	}
}

func TestOnce_TerminalFailureIsCompleted(t *testing.T) {
	f := &fakeServer{}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		result, err := c.Once(t.Context(), request(), func(context.Context, *client.Claim) (client.Result, error) {
			return client.Result{Data: []byte("unknown order")}, fmt.Errorf("handler: %w", client.Terminal(errBoom))
		})
		var failed *client.FailedError
		if !errors.As(err, &failed) || !errors.Is(err, errBoom) || failed.Result.Replayed || string(result.Data) != "unknown order" {
			t.Errorf("got %+v, %v", result, err)
		}
		if done := f.completes[0]; !done.GetFailed() || string(done.GetResult()) != "unknown order" || len(f.releases) != 0 {
			t.Errorf("completed with %v, released with %v", f.completes, f.releases)
		}
	})
	if client.Terminal(nil) != nil {
		t.Error("Terminal(nil) is an error")
	}
}

func TestOnce_PanicReleasesAndPassesThrough(t *testing.T) {
	f := &fakeServer{}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		defer func() {
			if recovered := recover(); recovered != errBoom {
				t.Errorf("recovered %v", recovered)
			}
			if len(f.releases) != 1 || f.releases[0].GetReason() != "panic" || len(f.completes) != 0 {
				t.Errorf("released with %v", f.releases)
			}
		}()
		c.Once(t.Context(), request(), func(context.Context, *client.Claim) (client.Result, error) { panic(errBoom) })
		t.Error("the panic was swallowed")
	})
}

func TestOnce_CancelledCallerReleases(t *testing.T) {
	f := &fakeServer{}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err := c.Once(ctx, request(), func(ctx context.Context, _ *client.Claim) (client.Result, error) {
			cancel(errBoom)
			<-ctx.Done()
			if context.Cause(ctx) != errBoom {
				t.Errorf("cause %v", context.Cause(ctx))
			}
			return client.Result{}, ctx.Err()
		})
		if err != context.Canceled {
			t.Errorf("got %v", err)
		}
		if len(f.releases) != 1 || f.releases[0].GetReason() != "canceled" {
			t.Errorf("released with %v", f.releases)
		}
	})
}

func TestOnce_CancelledCallerStillRecordsAnEffectThatHappened(t *testing.T) {
	f := &fakeServer{}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := c.Once(ctx, request(), func(ctx context.Context, claim *client.Claim) (client.Result, error) {
			cancel()
			return succeed(ctx, claim)
		})
		if err != nil || len(f.completes) != 1 {
			t.Errorf("got %v, completed with %v", err, f.completes)
		}
	})
}

func TestOnce_LeavesNoGoroutine(t *testing.T) {
	f := &fakeServer{}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		for _, fn := range []client.Func{succeed, failWith(errBoom), waitForLoss} {
			f.extend = loseAt(2)
			c.Once(t.Context(), request(), fn)
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			if strings.Contains(string(stacks), "client.(*keeper)") {
				t.Errorf("left behind:\n%s", stacks)
			}
		}
	})
}
