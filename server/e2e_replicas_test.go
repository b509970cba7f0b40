package main

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/onceward/onceward/server/internal/redistest"
)

const replicatedPolicy = "namespaces:\n  e2e: {min_replicas: 1}\n"

// unreplicated calls until Redis has had the time to wait for replicas: on a
// busy machine the driver's patience may end before Redis's.
func unreplicated[Q, V any](t *testing.T, what string, q Q, do method[Q, V]) {
	t.Helper()
	var err error
	for range 10 {
		if _, err = once(q, do); reason(err) != "STORE_UNAVAILABLE" {
			break
		}
	}
	wantError(t, what, err, codes.Unavailable, "REPLICATION")
}

func TestWithoutItsReplicasAWriteIsNotConfirmedAndStaysTheCallers(t *testing.T) {
	t.Parallel() // mostly waits
	r := redistest.Start(t)
	strict := startServer(t, on(r), withPolicies(t, replicatedPolicy))
	lenient := startServer(t, on(r))

	q := attempt("key")
	unreplicated(t, "CheckAndClaim", q, strict.CheckAndClaim)
	unreplicated(t, "CheckAndClaim again", q, strict.CheckAndClaim)
	if v := lenient.claim(attempt("key")); v.GetOutcome() != inProgress {
		t.Errorf("somebody else: %v, want IN_PROGRESS", v)
	}
	v := lenient.hold(q)
	if !v.GetReentrant() || v.GetAttempt() != 1 {
		t.Errorf("the same request_id: %v, want the claim again", v)
	}
	token := v.GetFencingToken()
	unreplicated(t, "ExtendLease", extension("key", token), strict.ExtendLease)
	unreplicated(t, "Complete", completion("key", token), strict.Complete)
	if done := persist(t, completion("key", token), lenient.Complete); done.GetOutcome() != alreadySettled || done.GetState() != stateCompleted {
		t.Errorf("Complete again: %v, want ALREADY_SETTLED", done)
	}
}

// Redis looks at its timeouts ten times a second, so WAIT may take 100 ms longer
// than it was told. The driver must not take that for a broken connection, run
// the script again and in the end blame the store.
func TestAMissingReplicaCostsNoResend(t *testing.T) {
	t.Parallel() // mostly waits
	const calls = 10
	r := redistest.Start(t)
	p := startServer(t, on(r), withPolicies(t, replicatedPolicy))
	unreplicated(t, "first", attempt("first"), p.CheckAndClaim) // Redis learns the script
	before := scriptsRun(t, r)
	for i := range calls {
		_, err := once(attempt(fmt.Sprintf("key-%d", i)), p.CheckAndClaim)
		wantError(t, "CheckAndClaim", err, codes.Unavailable, "REPLICATION")
	}
	if n := scriptsRun(t, r) - before; n > calls*3/2 { // a busy machine may cost a few
		t.Errorf("%d scripts were run for %d calls", n, calls)
	}
}

func scriptsRun(t *testing.T, r *redistest.Server) (n int) {
	t.Helper()
	stats := r.Do("INFO", "commandstats").(string)
	_, rest, found := strings.Cut(stats, "cmdstat_evalsha:calls=")
	if _, err := fmt.Sscanf(rest, "%d", &n); !found || err != nil {
		t.Fatalf("no EVALSHA in %q", stats)
	}
	return n
}

func TestWithAReplicaWritesAreConfirmed(t *testing.T) {
	t.Parallel() // mostly waits
	r := redistest.Start(t, "--repl-diskless-sync-delay", "0")
	host, port, _ := net.SplitHostPort(r.Addr)
	redistest.Start(t, "--replicaof", host, port)
	redistest.Eventually(t, "the replica follows", func() error {
		r.Do("SET", "probe", "1", "PX", 1000)
		if n := r.Do("WAIT", 1, 100); n != int64(1) {
			return fmt.Errorf("%d replicas", n)
		}
		return nil
	})
	proxy := redistest.StartProxy(t, r.Addr)
	s := &lossyServer{startServer(t, on(proxy), withPolicies(t, replicatedPolicy)), r, proxy}
	for _, flush := range []bool{false, true} {
		key := fmt.Sprintf("flush %t", flush)
		token := s.hold(attempt(key)).GetFencingToken()
		for _, c := range s.everyVerb(key, token) {
			if flush {
				r.Do("SCRIPT", "FLUSH")
			}
			if err := c.answer(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
	for _, l := range losses {
		claimLosingReply(t, s, l, "claim, "+l.name)
		completeLosingReply(t, s, l, "complete, "+l.name)
	}
}
