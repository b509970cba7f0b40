package main

import (
	"testing"

	"google.golang.org/grpc/codes"
)

func TestAFullStoreTakesNoClaimAndWritesNothing(t *testing.T) {
	s := startBelow(t)
	held := attempt("held")
	token := s.hold(held).GetFencingToken()
	s.complete(completion("done", s.hold(attempt("done")).GetFencingToken()))

	s.redis.Do("CONFIG", "SET", "maxmemory", "1")
	before := s.redis.Snapshot()
	for _, c := range []call{s.call("CheckAndClaim", attempt("fresh")), s.call("final claim", attempt("fresh", final))} {
		wantError(t, c.name, c.answer(), codes.ResourceExhausted, "STORE_FULL")
	}
	wantSame(t, "full store", before, s.redis.Snapshot())
	// What needs no memory goes on, above all the answer that protects an effect.
	if v := s.claim(attempt("done")); v.GetOutcome() != duplicate {
		t.Errorf("a completed claim: %v, want DUPLICATE", v)
	}
	if v := s.claim(attempt("held")); v.GetOutcome() != inProgress {
		t.Errorf("a held claim: %v, want IN_PROGRESS", v)
	}

	s.redis.Do("CONFIG", "SET", "maxmemory", "0")
	s.hold(attempt("fresh"))
	s.complete(completion("held", token))
}

// Every other verb either does all it says or, with STORE_FULL, nothing.
func TestAFullStoreLeavesNoVerbHalfDone(t *testing.T) {
	for _, verb := range []string{"re-entry", "Complete", "Release", "Release park", "ExtendLease"} {
		t.Run(verb, func(t *testing.T) {
			s := startBelow(t)
			q := attempt("held")
			token := s.hold(q).GetFencingToken()
			c := map[string]call{
				"re-entry":     s.call(verb, q),
				"Complete":     s.call(verb, completion("held", token)),
				"Release":      s.call(verb, release("held", token)),
				"Release park": s.call(verb, park("held", token)),
				"ExtendLease":  s.call(verb, extension("held", token)),
			}[verb]
			s.redis.Do("CONFIG", "SET", "maxmemory", "1")
			before := s.redis.Snapshot()
			err := c.answer()
			t.Logf("with a full store: %v", err)
			if err == nil {
				return
			}
			wantError(t, verb, err, codes.ResourceExhausted, "STORE_FULL")
			wantSame(t, "full store", before, s.redis.Snapshot())
		})
	}
}
