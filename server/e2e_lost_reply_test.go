package main

import (
	"testing"
	"time"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/redistest"
)

// lossyServer is a server whose connections to Redis lose replies when told to.
type lossyServer struct {
	*process
	redis *redistest.Server
	proxy *redistest.Proxy
}

func startLossy(t *testing.T, env ...string) *lossyServer {
	t.Helper()
	r := redistest.Start(t)
	proxy := redistest.StartProxy(t, r.Addr)
	return &lossyServer{process: startServer(t, append(env, on(proxy))...), redis: r, proxy: proxy}
}

// losing makes a call whose first replies from Redis are lost.
func losing[Q, V any](t *testing.T, s *lossyServer, l loss, q Q, do method[Q, V]) V {
	t.Helper()
	s.proxy.SwallowReplies(l.replies, l.hangUp)
	v := persist(t, q, do)
	if got := s.proxy.Swallowed(); got != l.replies {
		t.Errorf("%T: %d replies were lost, want %d: the test did not test it", q, got, l.replies)
	}
	return v
}

type loss struct {
	name    string
	replies int // 2: that of the driver's resend too
	hangUp  bool
}

var losses = []loss{
	{"hang up", 1, true},
	{"hang up twice", 2, true},
	{"silence", 1, false},
	{"silence twice", 2, false},
}

func TestCallsWhoseReplyIsLostFindTheirOwnClaim(t *testing.T) {
	for _, l := range losses {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel() // mostly waits
			s := startLossy(t)
			for name, test := range map[string]func(*testing.T, *lossyServer, loss, string){
				"CheckAndClaim":                    claimLosingReply,
				"CheckAndClaim without request_id": claimWithoutIDLosingReply,
				"CheckAndClaim final":              finalClaimLosingReply,
				"CheckAndClaim take-over":          takeOverLosingReply,
				"Complete":                         completeLosingReply,
				"Release":                          releaseLosingReply,
				"Release park":                     parkLosingReply,
				"ExtendLease":                      extendLosingReply,
				"GetClaim":                         readLosingReply,
			} {
				t.Run(name, func(t *testing.T) { test(t, s, l, t.Name()) })
			}
		})
	}
}

// The same with scripts that Redis has not seen, which are sent whole.
func TestCallsWhoseReplyIsLostFindTheirOwnClaimAfterScriptFlush(t *testing.T) {
	for _, l := range losses {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel() // mostly waits
			s := startLossy(t)
			s.redis.Do("SCRIPT", "FLUSH")
			claimLosingReply(t, s, l, t.Name())
			s.redis.Do("SCRIPT", "FLUSH")
			completeLosingReply(t, s, l, t.Name()+" complete")
		})
	}
}

func claimLosingReply(t *testing.T, s *lossyServer, l loss, key string) {
	v := losing(t, s, l, attempt(key), s.CheckAndClaim)
	wantFirstAttempt(t, v)
	s.complete(completion(key, v.GetFencingToken()))
}

func claimWithoutIDLosingReply(t *testing.T, s *lossyServer, l loss, key string) {
	v := losing(t, s, l, attempt(key, withoutID), s.CheckAndClaim)
	wantFirstAttempt(t, v)
	s.complete(completion(key, v.GetFencingToken()))
}

func finalClaimLosingReply(t *testing.T, s *lossyServer, l loss, key string) {
	v := losing(t, s, l, attempt(key, final), s.CheckAndClaim)
	wantFirstAttempt(t, v)
	if again := s.claim(attempt(key, final)); again.GetOutcome() != duplicate {
		t.Errorf("the next final claim: %v, want DUPLICATE", again)
	}
}

func takeOverLosingReply(t *testing.T, s *lossyServer, l loss, key string) {
	q := attempt(key, lease(50*time.Millisecond))
	first := s.hold(q)
	s.waitLeaseOver(t, q)
	v := losing(t, s, l, attempt(key), s.CheckAndClaim)
	if v.GetOutcome() != claimed || v.GetAttempt() != 2 || v.GetTakeover().GetPreviousAttempt() != 1 || v.GetFencingToken() <= first.GetFencingToken() {
		t.Errorf("take-over: %v after %v", v, first)
	}
	s.complete(completion(key, v.GetFencingToken()))
}

func completeLosingReply(t *testing.T, s *lossyServer, l loss, key string) {
	token := s.hold(attempt(key)).GetFencingToken()
	v := losing(t, s, l, completion(key, token), s.Complete)
	if !accepted(v) || v.GetLate() || v.GetRecreated() {
		t.Errorf("Complete: %v, want OK or ALREADY_SETTLED", v)
	}
	after := s.claim(attempt(key))
	if after.GetOutcome() != duplicate || string(after.GetResult()) != "result of "+key || after.GetResultType() != "text/plain" {
		t.Errorf("after Complete: %v, want DUPLICATE with the result", after)
	}
}

func releaseLosingReply(t *testing.T, s *lossyServer, l loss, key string) {
	first := s.hold(attempt(key))
	v := losing(t, s, l, release(key, first.GetFencingToken()), s.Release)
	wantGivenBack(t, v, stateReleased)
	next := s.hold(attempt(key))
	if next.GetAttempt() != 2 || next.GetTakeover() != nil || next.GetFencingToken() <= first.GetFencingToken() {
		t.Errorf("the claim after Release: %v, want attempt 2 with a larger token", next)
	}
}

func parkLosingReply(t *testing.T, s *lossyServer, l loss, key string) {
	q := park(key, s.hold(attempt(key)).GetFencingToken())
	wantGivenBack(t, losing(t, s, l, q, s.Release), stateParked)
	if next := s.claim(attempt(key)); next.GetOutcome() != isParked {
		t.Errorf("the claim after parking: %v, want PARKED", next)
	}
}

func extendLosingReply(t *testing.T, s *lossyServer, l loss, key string) {
	first := s.hold(attempt(key))
	q := extension(key, first.GetFencingToken())
	q.EffectStarted = true
	v := losing(t, s, l, q, s.ExtendLease)
	if v.GetOutcome() != settled || v.GetState() != stateInProgress || v.GetLeaseExpiresAt().AsTime().Before(first.GetLeaseExpiresAt().AsTime()) {
		t.Errorf("ExtendLease: %v, want OK with a later end", v)
	}
	s.complete(completion(key, first.GetFencingToken()))
}

func readLosingReply(t *testing.T, s *lossyServer, l loss, key string) {
	first := s.hold(attempt(key))
	v := losing(t, s, l, reading(key), s.GetClaim).GetClaim()
	if v.GetState() != stateInProgress || v.GetFencingToken() != first.GetFencingToken() {
		t.Errorf("GetClaim: %v, want the claim in progress with token %d", v, first.GetFencingToken())
	}
}

func wantFirstAttempt(t *testing.T, v *oncewardv1.CheckAndClaimResponse) {
	t.Helper()
	if v.GetOutcome() != claimed || v.GetFencingToken() <= 0 || v.GetAttempt() != 1 || v.GetTakeover() != nil {
		t.Errorf("CheckAndClaim: %v, want CLAIMED, attempt 1, with a token", v)
	}
}

func wantGivenBack(t *testing.T, v *oncewardv1.ReleaseResponse, state oncewardv1.ClaimState) {
	t.Helper()
	if v.GetOutcome() != settled && v.GetOutcome() != alreadySettled || v.GetState() != state {
		t.Errorf("Release: %v, want OK or ALREADY_SETTLED with %v", v, state)
	}
}

func withoutID(q *oncewardv1.CheckAndClaimRequest) { q.RequestId = "" }

func final(q *oncewardv1.CheckAndClaimRequest) { q.Final = true }
