package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/redistest"
)

func claimOperation(q *oncewardv1.CheckAndClaimRequest) *oncewardv1.Operation {
	return &oncewardv1.Operation{Operation: &oncewardv1.Operation_CheckAndClaim{CheckAndClaim: q}}
}

func completeOperation(q *oncewardv1.CompleteRequest) *oncewardv1.Operation {
	return &oncewardv1.Operation{Operation: &oncewardv1.Operation_Complete{Complete: q}}
}

// batchClaims claims and completes many keys, two calls in all, and tells how
// each operation ended that did not end well.
func batchClaims(t *testing.T, s *lossyServer, prefix string, before func()) {
	t.Helper()
	const n = 300
	claims, completions := &oncewardv1.BatchRequest{}, &oncewardv1.BatchRequest{}
	for i := range n {
		claims.Operations = append(claims.Operations, claimOperation(attempt(fmt.Sprintf("%s-%d", prefix, i))))
	}
	before()
	for i, r := range batch(t, s, claims) {
		v := r.GetCheckAndClaim()
		wantFirstAttempt(t, v)
		completions.Operations = append(completions.Operations, completeOperation(completion(fmt.Sprintf("%s-%d", prefix, i), v.GetFencingToken())))
	}
	before()
	for i, r := range batch(t, s, completions) {
		if !accepted(r.GetComplete()) {
			t.Errorf("operation %d: %v, want OK", i, r)
		}
	}
}

// batch repeats the whole batch while a busy machine keeps an operation of it
// from being carried out in time.
func batch(t *testing.T, s *lossyServer, q *oncewardv1.BatchRequest) (results []*oncewardv1.OperationResult) {
	t.Helper()
	err := repeat(func() error {
		v, err := once(q, s.Batch)
		results = v.GetResults()
		for _, r := range results {
			if e := r.GetError(); e != nil {
				return status.Error(codes.Code(e.GetCode()), e.GetReason())
			}
		}
		return err
	})
	if err != nil || len(results) != len(q.GetOperations()) {
		t.Fatalf("Batch: %v, %d results for %d operations", err, len(results), len(q.GetOperations()))
	}
	return results
}

func TestABatchWhoseRepliesAreLostIsCarriedOutOnce(t *testing.T) {
	for _, l := range losses {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel() // mostly waits
			s := startLossy(t)
			batchClaims(t, s, l.name, func() { s.proxy.SwallowReplies(20*l.replies, l.hangUp) })
			if got := s.proxy.Swallowed(); got != 20*l.replies {
				t.Errorf("%d replies were lost: the test did not test it", got)
			}
		})
	}
}

func TestABatchSurvivesScriptFlush(t *testing.T) {
	s := startLossy(t)
	for round := range 3 {
		batchClaims(t, s, fmt.Sprint(round), func() { s.redis.Do("SCRIPT", "FLUSH") })
	}
}

// Workers keep their stream open for days: a restart must answer what is in
// flight on it, and must not wait for more.
func TestSIGTERMEndsStreamsAfterWhatIsInFlight(t *testing.T) {
	const inFlight = 50
	r := redistest.Start(t)
	proxy := redistest.StartProxy(t, r.Addr)
	p := startServer(t, on(proxy)+patientDriver, "ONCEWARD_DRAIN_TIMEOUT=20s")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stream, err := p.Stream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	idle, err := p.Stream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	proxy.HoldReplies()
	for i := range inFlight {
		if err := stream.Send(&oncewardv1.StreamRequest{Id: uint64(i), Operation: claimOperation(attempt(fmt.Sprint(i)))}); err != nil {
			t.Fatal(err)
		}
	}
	redistest.Eventually(t, "all operations are in flight", func() error {
		if n := proxy.HeldBack(); n < inFlight {
			return fmt.Errorf("%d replies are held back", n)
		}
		return nil
	})
	p.terminate()
	redistest.Eventually(t, "the server drains", func() error {
		if p.hasLogged("draining") {
			return nil
		}
		return errors.New("not yet in the log")
	})
	proxy.Pass()
	for range inFlight {
		if v, err := stream.Recv(); err != nil || v.GetResult().GetCheckAndClaim().GetOutcome() != claimed {
			t.Fatalf("an operation in flight: %v, %v, want CLAIMED", v, err)
		}
	}
	for name, s := range map[string]oncewardv1.OncewardService_StreamClient{"busy": stream, "idle": idle} {
		if v, err := s.Recv(); status.Code(err) != codes.Unavailable {
			t.Errorf("the %s stream: %v, %v, want its end with UNAVAILABLE", name, v, err)
		}
	}
	if code := p.wait(10 * time.Second); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}
