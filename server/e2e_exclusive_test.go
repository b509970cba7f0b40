package main

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/redistest"
)

// twoServers on one Redis, which share nothing else.
func twoServers(t *testing.T) [2]*process {
	t.Helper()
	r := redistest.Start(t)
	return [2]*process{startServer(t, on(r)), startServer(t, on(r))}
}

func TestOneOfManySimultaneousCallersGetsTheClaim(t *testing.T) {
	const rounds, callers = 50, 200
	servers := twoServers(t)
	for round := range rounds {
		key := fmt.Sprintf("round-%d", round)
		ask := func(i int) *oncewardv1.CheckAndClaimResponse { return servers[i%2].claim(attempt(key)) }

		answers := simultaneously(callers, ask)
		if d := cmp.Diff(map[string]int{claimed.String(): 1, inProgress.String(): callers - 1}, tally(answers)); d != "" {
			t.Fatalf("round %d, verdicts (-want +got):\n%s", round, d)
		}
		servers[round%2].complete(completion(key, theToken(t, answers)))

		answers = simultaneously(callers, ask)
		if d := cmp.Diff(map[string]int{duplicate.String(): callers}, tally(answers)); d != "" {
			t.Fatalf("round %d, verdicts after completion (-want +got):\n%s", round, d)
		}
		for _, v := range answers {
			if got, want := string(v.GetResult()), "result of "+key; got != want {
				t.Fatalf("round %d: a duplicate got %q, want %q", round, got, want)
			}
		}
	}
}

func tally(answers []*oncewardv1.CheckAndClaimResponse) map[string]int {
	n := map[string]int{}
	for _, v := range answers {
		n[v.GetOutcome().String()]++
	}
	return n
}

// theToken is the token of the one who got the claim. Nobody else may have any,
// and everybody else must know how long to wait.
func theToken(t *testing.T, answers []*oncewardv1.CheckAndClaimResponse) (token int64) {
	t.Helper()
	for _, v := range answers {
		if v.GetOutcome() == claimed {
			token = v.GetFencingToken()
			continue
		}
		if wait := v.GetRetryAfter().AsDuration(); v.GetFencingToken() != 0 || wait <= 0 || wait > 30*time.Second {
			t.Fatalf("in progress, but %v", v)
		}
	}
	return token
}

func TestCompleteAndTakeOverNeverBothWin(t *testing.T) {
	const rounds = 500
	servers := twoServers(t)
	var completed, takenOver atomic.Int32
	spread(rounds, 8, func(round int) {
		race := &leaseEnd{t: t, servers: servers, key: fmt.Sprintf("race-%d", round)}
		if race.run(round) {
			completed.Add(1)
		} else {
			takenOver.Add(1)
		}
	})
	t.Logf("%d rounds completed by the first holder, %d taken over", completed.Load(), takenOver.Load())
	if completed.Load() == 0 || takenOver.Load() == 0 {
		t.Error("one side won every round: the test did not hit the end of the lease")
	}
}

// leaseEnd is one race at the end of a lease: its holder completes while others
// take over.
type leaseEnd struct {
	t       *testing.T
	servers [2]*process
	key     string
}

const takers = 20

// run tells whether the holder's Complete won.
func (e *leaseEnd) run(round int) (completed bool) {
	first := e.servers[0].hold(attempt(e.key, lease(50*time.Millisecond)))
	end := first.GetLeaseExpiresAt().AsTime() // Redis's clock, which is this machine's
	var done *oncewardv1.CompleteResponse
	answers := simultaneously(takers+1, func(i int) *oncewardv1.CheckAndClaimResponse {
		if i == takers {
			// Around the end, now earlier and now later, so that each side wins at times.
			time.Sleep(time.Until(end.Add(time.Duration(round%8-3) * time.Millisecond)))
			done = persist(e.t, completion(e.key, first.GetFencingToken()), e.servers[round%2].Complete)
			return nil
		}
		time.Sleep(time.Until(end) + rand.N(3*time.Millisecond))
		return e.servers[i%2].claim(attempt(e.key))
	})
	return e.judge(first, done, answers[:takers])
}

func (e *leaseEnd) judge(first *oncewardv1.CheckAndClaimResponse, done *oncewardv1.CompleteResponse, answers []*oncewardv1.CheckAndClaimResponse) (completed bool) {
	winners := 0
	var token int64
	for _, v := range answers {
		switch v.GetOutcome() {
		case claimed:
			winners, token = winners+1, v.GetFencingToken()
			if token <= first.GetFencingToken() || v.GetAttempt() != 2 || v.GetTakeover().GetPreviousAttempt() != 1 {
				e.t.Errorf("%s: taken over with %v after %v", e.key, v, first)
			}
		case inProgress, duplicate:
		default:
			e.t.Errorf("%s: a taker got %v", e.key, v)
		}
	}
	completed = accepted(done)
	now := e.servers[0].read(e.key)
	switch {
	case completed && (winners != 0 || now.GetState() != stateCompleted || now.GetFencingToken() != first.GetFencingToken()):
		e.t.Errorf("%s: completed as %v, and %d takers got the claim; now %v", e.key, done, winners, now)
	case !completed && done.GetOutcome() != lost:
		e.t.Errorf("%s: Complete got %v, want OK or LOST", e.key, done)
	case !completed && (winners != 1 || now.GetState() != stateInProgress || now.GetFencingToken() != token):
		e.t.Errorf("%s: Complete LOST, but %d takers got the claim; now %v", e.key, winners, now)
	}
	return completed
}
