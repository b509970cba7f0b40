package client_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/onceward/onceward/client"
)

// event is a claim request for a key of its own.
func event(t *testing.T) client.ClaimRequest {
	return client.ClaimRequest{Namespace: "stripe-live", Consumer: "ledger", Key: "evt_" + t.Name(), Owner: "test"}
}

func TestServer_OnceReplaysTheResult(t *testing.T) {
	s := startServer(t)
	want := "a\x00b\xff"
	for i := range 3 {
		result, err := s.client.Once(t.Context(), event(t), func(context.Context, *client.Claim) (client.Result, error) {
			if i > 0 {
				t.Error("ran again")
			}
			return client.Result{Data: []byte(want), Type: "application/octet-stream"}, nil
		})
		if err != nil || string(result.Data) != want || result.Type != "application/octet-stream" || result.Replayed != (i > 0) {
			t.Errorf("call %d: got %+v, %v", i, result, err)
		}
	}
}

func TestServer_ManyCallersOneEffect(t *testing.T) {
	s := startServer(t)
	req := event(t)
	req.Wait = generous
	var effects, replays atomic.Int32
	var callers sync.WaitGroup
	for range 32 {
		callers.Go(func() {
			result, err := s.client.Once(t.Context(), req, func(context.Context, *client.Claim) (client.Result, error) {
				effects.Add(1)
				return client.Result{Data: []byte("receipt")}, nil
			})
			if err != nil || string(result.Data) != "receipt" {
				t.Errorf("got %+v, %v", result, err)
			}
			if result.Replayed {
				replays.Add(1)
			}
		})
	}
	callers.Wait()
	if effects.Load() != 1 || replays.Load() != 31 {
		t.Errorf("%d effects, %d replays", effects.Load(), replays.Load())
	}
}

func TestServer_DerivedKeyMeetsItsParts(t *testing.T) {
	s := startServer(t)
	byParts, byKey := event(t), event(t)
	byParts.Key, byParts.KeyParts = "", []string{"order-1", "OrderInvoiced", "2026-01-31T12:00:00Z"}
	byKey.Key = client.DeriveKey(byParts.KeyParts...)
	if _, err := s.client.Once(t.Context(), byParts, succeed); err != nil {
		t.Fatal(err)
	}
	if result, err := s.client.Once(t.Context(), byKey, mustNotRun(t)); err != nil || !result.Replayed {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestServer_InProgressWithoutWait(t *testing.T) {
	s := startServer(t)
	_, err := s.client.Once(t.Context(), event(t), func(context.Context, *client.Claim) (client.Result, error) {
		_, err := s.client.Once(t.Context(), event(t), mustNotRun(t))
		var busy *client.InProgressError
		if !errors.As(err, &busy) || busy.RetryAfter <= 0 || busy.RetryAfter > client.DefaultLease {
			t.Errorf("got %v", err)
		}
		return client.Result{}, nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestServer_TerminalFailureIsReplayed(t *testing.T) {
	s := startServer(t)
	_, err := s.client.Once(t.Context(), event(t), func(context.Context, *client.Claim) (client.Result, error) {
		return client.Result{Data: []byte("unknown order")}, client.Terminal(errBoom)
	})
	if !errors.Is(err, errBoom) {
		t.Errorf("got %v", err)
	}
	_, err = s.client.Once(t.Context(), event(t), mustNotRun(t))
	var failed *client.FailedError
	if !errors.As(err, &failed) || string(failed.Result.Data) != "unknown order" || !failed.Result.Replayed {
		t.Errorf("got %v", err)
	}
}

func TestServer_FailureIsReleasedForTheNextAttempt(t *testing.T) {
	s := startServer(t)
	s.client.Once(t.Context(), event(t), failWith(&client.ReleaseError{Err: errBoom, Reason: strings.Repeat("é", 600)}))
	if record := s.claim(t, event(t)); record.State != client.StateReleased || record.Reason != strings.Repeat("é", 512) {
		t.Errorf("the record is %+v", record)
	}
	_, err := s.client.Once(t.Context(), event(t), func(_ context.Context, claim *client.Claim) (client.Result, error) {
		if claim.Attempt != 2 || claim.Takeover != nil {
			t.Errorf("attempt %d, takeover %v", claim.Attempt, claim.Takeover)
		}
		return client.Result{}, nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestServer_ReleaseHoldsTheEventBack(t *testing.T) {
	s := startServer(t)
	s.client.Once(t.Context(), event(t), failWith(&client.ReleaseError{Err: errBoom, RetryAfter: time.Hour}))
	_, err := s.client.Once(t.Context(), event(t), mustNotRun(t))
	var busy *client.InProgressError
	if !errors.As(err, &busy) || busy.RetryAfter < 50*time.Minute {
		t.Errorf("got %v", err)
	}
}

func TestServer_PanicReleases(t *testing.T) {
	s := startServer(t)
	func() {
		defer func() {
			if recover() != errBoom {
				t.Error("the panic was swallowed")
			}
		}()
		s.client.Once(t.Context(), event(t), func(context.Context, *client.Claim) (client.Result, error) { panic(errBoom) })
	}()
	if record := s.claim(t, event(t)); record.State != client.StateReleased || record.Reason != "panic" {
		t.Errorf("the record is %+v", record)
	}
}

func TestServer_EffectStartedParks(t *testing.T) {
	s := startServer(t)
	s.client.Once(t.Context(), event(t), func(ctx context.Context, claim *client.Claim) (client.Result, error) {
		if err := claim.EffectStarted(ctx); err != nil {
			t.Error(err)
		}
		if record := s.claim(t, event(t)); !record.EffectStarted {
			t.Errorf("the record is %+v", record)
		}
		return client.Result{}, errBoom
	})
	if _, err := s.client.Once(t.Context(), event(t), mustNotRun(t)); err != client.ErrParked {
		t.Errorf("got %v", err)
	}
}

func TestServer_ConflictingFingerprint(t *testing.T) {
	s := startServer(t)
	first, forged := event(t), event(t)
	first.Fingerprint, forged.Fingerprint = []byte("one"), []byte("two")
	if _, err := s.client.Once(t.Context(), first, succeed); err != nil {
		t.Fatal(err)
	}
	if result, err := s.client.Once(t.Context(), forged, mustNotRun(t)); err != client.ErrConflict || result.Data != nil {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestServer_LeaseIsKeptWhileTheFunctionRuns(t *testing.T) {
	s := startServer(t)
	req := event(t)
	req.Lease = 2 * time.Second
	_, err := s.client.Once(t.Context(), req, func(ctx context.Context, _ *client.Claim) (client.Result, error) {
		first := s.claim(t, req).LeaseExpiresAt
		eventually(t, "the lease was renewed beyond its own length", func() bool {
			return s.claim(t, req).LeaseExpiresAt.Sub(first) > req.Lease
		})
		return client.Result{}, ctx.Err()
	})
	if err != nil {
		t.Error(err)
	}
}

// abandon claims the request's key as a process that dies right afterwards.
func (s *realServer) abandon(t *testing.T, req client.ClaimRequest, effectStarted bool) {
	t.Helper()
	req.Lease, req.Owner = time.Second, "the dead one"
	answer, err := s.client.CheckAndClaim(t.Context(), req)
	if err != nil || answer.Outcome != client.Claimed {
		t.Fatal(answer, err)
	}
	if effectStarted {
		_, err := s.client.ExtendLease(t.Context(), client.ExtendLeaseRequest{
			Ref: req.Ref(), FencingToken: answer.FencingToken, Lease: req.Lease, EffectStarted: true,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestServer_WaitsForADeadHoldersLeaseAndTakesOver(t *testing.T) {
	s := startServer(t)
	s.abandon(t, event(t), true)
	req := event(t)
	req.Wait = generous
	_, err := s.client.Once(t.Context(), req, func(_ context.Context, claim *client.Claim) (client.Result, error) {
		want := client.Takeover{PreviousAttempt: 1, PreviousOwner: "the dead one", EffectStarted: true}
		if claim.Attempt != 2 || claim.Takeover == nil || *claim.Takeover != want {
			t.Errorf("attempt %d, takeover %+v", claim.Attempt, claim.Takeover)
		}
		return client.Result{}, errBoom
	})
	if err != errBoom {
		t.Errorf("got %v", err)
	}
	if record := s.claim(t, event(t)); record.State != client.StateParked {
		t.Errorf("an attempt whose predecessor had started the effect left %v", record.State)
	}
}

// Who gives the claim back has not looked: the next one must.
func TestServer_ATakeoverIsToldToAllThatFollow(t *testing.T) {
	s := startServer(t)
	s.abandon(t, event(t), false)
	req := event(t)
	req.Wait = generous
	for attempt := 2; attempt <= 4; attempt++ {
		s.client.Once(t.Context(), req, func(_ context.Context, claim *client.Claim) (client.Result, error) {
			want := client.Takeover{PreviousAttempt: 1, PreviousOwner: "the dead one"}
			if claim.Attempt != attempt || claim.Takeover == nil || *claim.Takeover != want {
				t.Errorf("attempt %d, takeover %+v", claim.Attempt, claim.Takeover)
			}
			return client.Result{}, errBoom
		})
	}
}

func TestServer_TakenOverWhileTheFunctionRuns(t *testing.T) {
	s := startServer(t)
	req := event(t)
	req.Lease = time.Second
	_, err := s.client.Once(t.Context(), req, func(ctx context.Context, claim *client.Claim) (client.Result, error) {
		// Another holder: possible here only because the claim is given away by hand.
		if _, err := s.client.Release(ctx, client.ReleaseRequest{Ref: req.Ref(), FencingToken: claim.FencingToken}); err != nil {
			t.Error(err)
		}
		if _, err := s.client.Once(t.Context(), req, succeed); err != nil {
			t.Error(err)
		}
		return waitForLoss(ctx, claim)
	})
	if err != client.ErrLeaseLost {
		t.Errorf("got %v", err)
	}
}

func TestServer_ResultThatIsTooLargeParksTheClaim(t *testing.T) {
	s := startServer(t)
	_, err := s.client.Once(t.Context(), event(t), func(context.Context, *client.Claim) (client.Result, error) {
		return client.Result{Data: make([]byte, 64<<10+1)}, nil
	})
	var unrecorded *client.UnrecordedError
	if !errors.As(err, &unrecorded) || status.Code(unrecorded.Err) != codes.InvalidArgument {
		t.Errorf("got %v", err)
	}
	if record := s.claim(t, event(t)); record.State != client.StateParked || record.Reason != "completion refused: InvalidArgument" {
		t.Errorf("the record is %+v", record)
	}
}

func TestServer_Calls(t *testing.T) {
	s := startServer(t)
	ctx, req := t.Context(), event(t)
	if record := s.claim(t, req); record.State != client.StateAbsent {
		t.Errorf("the record is %+v", record)
	}
	req.RequestID = "attempt-1"
	first, err1 := s.client.CheckAndClaim(ctx, req)
	again, err2 := s.client.CheckAndClaim(ctx, req)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if first.Reentrant || !again.Reentrant || first.FencingToken == 0 || first.FencingToken != again.FencingToken || first.Key != req.Key {
		t.Errorf("claimed %+v, then %+v", first, again)
	}
	stale, err := s.client.ExtendLease(ctx, client.ExtendLeaseRequest{Ref: req.Ref(), FencingToken: first.FencingToken - 1})
	if err != nil || stale.Outcome != client.Lost {
		t.Errorf("extended with a stale token: %+v, %v", stale, err)
	}
	done := client.CompleteRequest{Ref: req.Ref(), FencingToken: first.FencingToken, Result: client.Result{Data: []byte("ok")}}
	for _, want := range []client.SettleOutcome{client.Settled, client.AlreadySettled} {
		if got, err := s.client.Complete(ctx, done); err != nil || got.Outcome != want || got.State != client.StateCompleted {
			t.Errorf("completed: %+v, %v, want %v", got, err, want)
		}
	}
	record := s.claim(t, req)
	if record.State != client.StateCompleted || string(record.Result.Data) != "ok" || record.Attempt != 1 || record.CompletedAt.IsZero() {
		t.Errorf("the record is %+v", record)
	}
}

func TestServer_RefusalsHaveAReason(t *testing.T) {
	s := startServer(t)
	req := event(t)
	req.Namespace = "no spaces"
	_, err := s.client.Once(t.Context(), req, mustNotRun(t))
	if status.Code(err) != codes.InvalidArgument || client.Reason(err) == "" {
		t.Errorf("got %v, reason %q", err, client.Reason(err))
	}
}
