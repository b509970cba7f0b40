package main

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

const (
	// errorWithin is how soon a caller without a deadline of its own learns that
	// Redis cannot be asked.
	errorWithin = 3 * time.Second

	// recoveryWithin is how soon everything works again once Redis does.
	recoveryWithin = 5 * time.Second
)

func TestWithoutRedisThereIsAnErrorAndNoVerdict(t *testing.T) {
	for _, outage := range []struct {
		name       string
		begin, end func(*lossyServer)
	}{
		{"black hole", func(s *lossyServer) { s.proxy.Hold() }, func(s *lossyServer) { s.proxy.Pass() }},
		{"refused", func(s *lossyServer) { s.proxy.Refuse() }, func(s *lossyServer) { s.proxy.Accept() }},
		{"killed", func(s *lossyServer) { s.redis.Kill() }, func(s *lossyServer) { s.redis.Run() }},
	} {
		t.Run(outage.name, func(t *testing.T) {
			t.Parallel() // mostly waits
			s := startLossy(t)
			held := s.hold(attempt("held", lease(time.Hour)))
			outage.begin(s)
			asked := allFail(t, s, held.GetFencingToken())
			outage.end(s)
			recovers(t, s, asked)
		})
	}
}

// allFail makes many calls of every verb at once and gives the claims that were
// asked for. No call may outlast its bound or get a verdict.
func allFail(t *testing.T, s *lossyServer, token int64) []*oncewardv1.CheckAndClaimRequest {
	t.Helper()
	var asked []*oncewardv1.CheckAndClaimRequest
	var calls []call
	for i := range 40 {
		q := attempt(fmt.Sprintf("asked-%d", i))
		asked = append(asked, q)
		calls = append(calls, s.call("CheckAndClaim of a fresh key", q))
		calls = append(calls, s.everyVerb("held", token)...)
	}
	simultaneously(len(calls), func(i int) any {
		begin := time.Now()
		err := calls[i].do()
		if took := time.Since(begin); took > errorWithin {
			t.Errorf("%s: answered after %s", calls[i].name, took)
		}
		if c := status.Code(err); c != codes.Unavailable && c != codes.DeadlineExceeded || reason(err) == "" {
			t.Errorf("%s: %v with reason %q, want UNAVAILABLE or DEADLINE_EXCEEDED with a reason", calls[i].name, err, reason(err))
		}
		return nil
	})
	return asked
}

// recovers fails unless everybody who had no answer gets one now: the claim
// itself, whether or not Redis had carried out the call without an answer.
func recovers(t *testing.T, s *lossyServer, asked []*oncewardv1.CheckAndClaimRequest) {
	t.Helper()
	begin := time.Now()
	s.hold(attempt("first after the outage"))
	if took := time.Since(begin); took > recoveryWithin {
		t.Errorf("recovered after %s", took)
	}
	for _, q := range asked {
		v := s.hold(q)
		if v.GetAttempt() != 1 {
			t.Errorf("%v, want attempt 1", v)
		}
		s.complete(completion(q.GetKey(), v.GetFencingToken()))
	}
}

func TestACallersOwnDeadlineHoldsWithoutRedis(t *testing.T) {
	s := startLossy(t)
	s.hold(attempt("before"))
	s.proxy.Hold()
	defer s.proxy.Pass()
	begin := time.Now()
	_, err := within(300*time.Millisecond, attempt("deadline"), s.CheckAndClaim)
	if status.Code(err) != codes.DeadlineExceeded && status.Code(err) != codes.Unavailable {
		t.Errorf("CheckAndClaim: %v, want DEADLINE_EXCEEDED", err)
	}
	if took := time.Since(begin); took > errorWithin/2 {
		t.Errorf("answered after %s, although the caller had 300ms", took)
	}
}

func TestEveryVerbSurvivesScriptFlush(t *testing.T) {
	s := startLossy(t)
	for round := range 3 {
		key := fmt.Sprintf("flush-%d", round)
		token := s.hold(attempt(key)).GetFencingToken()
		for _, c := range s.everyVerb(key, token) {
			s.redis.Do("SCRIPT", "FLUSH")
			if err := c.answer(); err != nil {
				t.Errorf("%s after SCRIPT FLUSH: %v", c.name, err)
			}
		}
	}
}
