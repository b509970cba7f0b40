package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

const ordersPolicy = "namespaces:\n  orders: {routing: entity}\n"

func sequence(n uint64) *oncewardv1.Version {
	return &oncewardv1.Version{Value: &oncewardv1.Version_Sequence{Sequence: n}}
}

func application(entity string, n uint64) *oncewardv1.ApplyIfNewerRequest {
	q := attempt(fmt.Sprintf("event-%d", n))
	return &oncewardv1.ApplyIfNewerRequest{Namespace: "orders", Entity: entity, Version: sequence(n), EventId: q.GetKey(), RequestId: q.GetRequestId()}
}

func orderedAttempt(key, entity string, n uint64) *oncewardv1.CheckAndClaimRequest {
	q := attempt(key, in("orders"), lease(time.Hour))
	q.Order = &oncewardv1.Order{Entity: entity, Version: sequence(n)}
	return q
}

func orderedCompletion(key, entity string, token int64) *oncewardv1.CompleteRequest {
	q := completion(key, token)
	q.Namespace, q.Entity = "orders", entity
	return q
}

func TestOrderedCallsWhoseReplyIsLostAreCarriedOutOnce(t *testing.T) {
	for _, l := range losses {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel() // mostly waits
			s := startLossy(t, withPolicies(t, ordersPolicy))
			applied := losing(t, s, l, application("applied", 5), s.ApplyIfNewer)
			if applied.GetOutcome() != oncewardv1.ApplyOutcome_APPLY_OUTCOME_APPLIED || applied.GetCurrent().GetVersion().GetSequence() != 5 {
				t.Errorf("ApplyIfNewer: %v, want APPLIED", applied)
			}
			v := losing(t, s, l, orderedAttempt("event", "claimed", 7), s.CheckAndClaim)
			wantFirstAttempt(t, v)
			if other := s.claim(orderedAttempt("other", "claimed", 8)); other.GetOrderOutcome() != oncewardv1.ApplyOutcome_APPLY_OUTCOME_BUSY {
				t.Errorf("another event of the entity: %v, want BUSY", other)
			}
			if done := losing(t, s, l, orderedCompletion("event", "claimed", v.GetFencingToken()), s.Complete); !accepted(done) {
				t.Errorf("Complete: %v, want OK or ALREADY_SETTLED", done)
			}
			s.hold(orderedAttempt("next", "claimed", 8))
		})
	}
}

// everyOrderVerb calls each verb that reads or writes an entity once.
func (p *process) everyOrderVerb(entity, key string, token int64) []call {
	return []call{
		p.call("ApplyIfNewer", application(entity, 9)),
		p.call("GetEntity", &oncewardv1.GetEntityRequest{Namespace: "orders", Entity: entity}),
		p.call("ReconcileEntity", &oncewardv1.ReconcileEntityRequest{Namespace: "orders", Entity: entity, Version: sequence(9), Actor: "a", Reason: "b"}),
		p.call("ForgetEntity", &oncewardv1.ForgetEntityRequest{Namespace: "orders", Entity: entity, Actor: "a", Reason: "b"}),
		p.call("CheckAndClaim", orderedAttempt("another", entity, 10)),
		p.call("Complete", orderedCompletion(key, entity, token)),
	}
}

// holdEntity has an entity with a watermark and a claim in progress, and gives
// the claim's token and the physical keys of entity and hold.
func (s *belowServer) holdEntity(t *testing.T, key, entity string) (token int64, record, hold string) {
	t.Helper()
	persist(t, application(entity, 1), s.ApplyIfNewer)
	token, claim := s.holdAt(t, orderedAttempt(key, entity, 2))
	for _, k := range s.redis.Keys(index(claim, "")) {
		switch strings.TrimPrefix(k, index(claim, ""))[0] {
		case 'e':
			record = k
		case 'h':
			hold = k
		}
	}
	if record == "" || hold == "" {
		t.Fatalf("no record of the entity or no hold among %q", s.redis.Keys(""))
	}
	return token, record, hold
}

func TestAnUnreadableEntityIsAnErrorAndStaysAsItIs(t *testing.T) {
	s := startBelow(t, withPolicies(t, ordersPolicy))
	for _, name := range []string{"a list", "garbage", "a number", "nothing", "schema 2", "schema 255", "one byte more"} {
		t.Run(name, func(t *testing.T) {
			s.redis.Do("FLUSHALL")
			token, record, _ := s.holdEntity(t, "event", name)
			foreign[name](s.redis, record, s.redis.Do("GET", record).(string))
			s.unchangedBy(t, name, s.everyOrderVerb(name, "event", token))
		})
	}
}

func TestATruncatedEntityIsUnreadableAtEveryLength(t *testing.T) {
	t.Parallel()
	s := startBelow(t, withPolicies(t, "namespaces:\n  orders: {routing: entity, ordering: {gap: apply, retention: 2160h}}\n"))
	token, record, _ := s.holdEntity(t, "event", "with a hole")
	persist(t, orderedCompletion("event", "with a hole", token), s.Complete)
	persist(t, application("with a hole", 5), s.ApplyIfNewer) // a flagged one: the longest form
	full := s.redis.Do("GET", record).(string)
	for length := range len(full) {
		s.redis.Do("SET", record, full[:length], "PX", 600_000)
		s.unchangedBy(t, fmt.Sprintf("cut at %d", length), s.everyOrderVerb("with a hole", "event", token)[:5])
	}
}

// Whatever stands where a claim's hold on its entity belongs: an error leaves
// nothing behind.
func TestAForeignHoldIsAnErrorAndNothingIsWritten(t *testing.T) {
	for name, calls := range map[string]func(s *belowServer, token int64) call{
		"ApplyIfNewer": func(s *belowServer, _ int64) call { return s.call("ApplyIfNewer", application("entity", 9)) },
		"CheckAndClaim": func(s *belowServer, _ int64) call {
			return s.call("CheckAndClaim", orderedAttempt("another", "entity", 9))
		},
		"Complete": func(s *belowServer, token int64) call {
			return s.call("Complete", orderedCompletion("event", "entity", token))
		},
		"Release": func(s *belowServer, token int64) call {
			q := release("event", token)
			q.Namespace, q.Entity = "orders", "entity"
			return s.call("Release", q)
		},
		"Release park": func(s *belowServer, token int64) call {
			q := park("event", token)
			q.Namespace, q.Entity = "orders", "entity"
			return s.call("Release", q)
		},
		"ForgetClaim": func(s *belowServer, _ int64) call {
			return s.call("ForgetClaim", &oncewardv1.ForgetClaimRequest{Namespace: "orders", Key: "event", Entity: "entity", Actor: "a", Reason: "b"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startBelow(t, withPolicies(t, ordersPolicy))
			token, _, hold := s.holdEntity(t, "event", "entity")
			s.redis.Do("DEL", hold)
			s.redis.Do("RPUSH", hold, "foreign")
			s.unchangedBy(t, "foreign hold", []call{calls(s, token)})
		})
	}
}

// The log is written last and its own errors are dropped; what is not a log must
// not even get an expiry from it.
func TestAForeignLogIsLeftAlone(t *testing.T) {
	s := startBelow(t)
	token, record := s.holdAt(t, attempt("held", lease(time.Hour)))
	s.redis.Do("SET", index(record, "log"), "foreign")
	before := s.redis.Snapshot()
	if v := s.claim(attempt("held")); v.GetOutcome() != inProgress {
		t.Errorf("CheckAndClaim: %v, want IN_PROGRESS", v)
	}
	if v := persist(t, release("held", token-1), s.Release); v.GetOutcome() != lost {
		t.Errorf("Release: %v, want LOST", v)
	}
	wantSame(t, "foreign log", before, s.redis.Snapshot())
}
