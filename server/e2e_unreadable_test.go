package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/redistest"
)

// foreign is what somebody else, a later release or a fault may have left where
// a record belongs. Each plants itself at a key that holds a record.
var foreign = map[string]plant{
	"a list": func(r *redistest.Server, key, _ string) {
		r.Do("DEL", key)
		r.Do("RPUSH", key, "one", "two")
	},
	"a hash": func(r *redistest.Server, key, _ string) {
		r.Do("DEL", key)
		r.Do("HSET", key, "field", "value")
	},
	"garbage":        planted(func(string) string { return "somebody else's value" }),
	"a number":       planted(func(string) string { return "1" }),
	"nothing":        planted(func(string) string { return "" }),
	"schema 2":       planted(func(record string) string { return "\x02" + record[1:] }),
	"schema 255":     planted(func(record string) string { return "\xff" + record[1:] }),
	"unknown state":  planted(func(record string) string { return record[:1] + "\x77" + record[2:] }),
	"one byte more":  planted(func(record string) string { return record + "x" }),
	"without expiry": func(r *redistest.Server, key, _ string) { r.Do("PERSIST", key) },
}

// plant puts something at a key that holds a record.
type plant func(r *redistest.Server, key, record string)

func planted(change func(record string) string) plant {
	return func(r *redistest.Server, key, record string) { r.Do("SET", key, change(record), "PX", 600_000) }
}

func TestAnUnreadableRecordIsAnErrorAndStaysAsItIs(t *testing.T) {
	s := startBelow(t)
	other := s.hold(attempt("other")).GetFencingToken()
	for name, plant := range foreign {
		t.Run(name, func(t *testing.T) { s.unreadableOpenAndCompleted(t, t.Name(), plant) })
	}
	s.complete(completion("other", other))
}

// A record that is cut short anywhere must not be taken for a shorter one.
func TestATruncatedRecordIsUnreadableAtEveryLength(t *testing.T) {
	t.Parallel()
	s := startBelow(t)
	_, record := s.holdAt(t, attempt("full length"))
	for length := range len(s.redis.Do("GET", record).(string)) {
		s.unreadableOpenAndCompleted(t, fmt.Sprintf("cut at %3d", length), planted(func(record string) string {
			return record[:min(length, len(record)-1)]
		}))
	}
}

// belowServer is a server whose records are looked at, and changed, from below.
type belowServer struct {
	*process
	redis *redistest.Server
}

func startBelow(t *testing.T, env ...string) *belowServer {
	t.Helper()
	r := redistest.Start(t)
	return &belowServer{startServer(t, append(env, on(r))...), r}
}

// holdAt gets a claim and gives the physical key of its record: the one that
// was not there before and is no index.
func (s *belowServer) holdAt(t *testing.T, q *oncewardv1.CheckAndClaimRequest) (token int64, record string) {
	t.Helper()
	before := s.redis.Keys("")
	token = s.hold(q).GetFencingToken()
	for _, key := range s.redis.Keys("") {
		if !slices.Contains(before, key) && strings.Contains(key, "}c") {
			return token, key
		}
	}
	t.Fatal("the claim left no record")
	return 0, ""
}

// unreadableOpenAndCompleted plants something at the record of a claim in
// progress, and at that of a completed one.
func (s *belowServer) unreadableOpenAndCompleted(t *testing.T, key string, plant plant) {
	t.Helper()
	token, record := s.holdAt(t, attempt(key, lease(time.Hour)))
	s.unreadable(t, key, token, record, plant)

	key += ", completed"
	token, record = s.holdAt(t, attempt(key))
	s.complete(completion(key, token))
	s.unreadable(t, key, token, record, plant)
}

// unreadable plants something at a claim's record: every verb must fail, and
// leave everything as it is.
func (s *belowServer) unreadable(t *testing.T, key string, token int64, record string, plant plant) {
	t.Helper()
	plant(s.redis, record, s.redis.Do("GET", record).(string))
	s.unchangedBy(t, key, s.everyVerb(key, token))
	s.redis.Do("DEL", record)
}

// unchangedBy makes calls that must find the store unreadable and change nothing.
func (s *belowServer) unchangedBy(t *testing.T, what string, calls []call) {
	t.Helper()
	before := s.redis.Snapshot()
	for _, c := range calls {
		wantError(t, what+": "+c.name, c.answer(), codes.DataLoss, "RECORD_UNREADABLE")
	}
	wantSame(t, what, before, s.redis.Snapshot())
}

// wantSame fails unless two snapshots of a store are equal.
func wantSame(t *testing.T, what string, before, after map[string]string) {
	t.Helper()
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("%s: written to (-before +after):\n%s", what, d)
	}
}

// index is the physical key of an index beside a record.
func index(record, name string) string { return record[:strings.Index(record, "}")+1] + name }

func TestAForeignIndexIsAnErrorAndNothingIsWritten(t *testing.T) {
	t.Parallel() // mostly waits
	for name, plant := range map[string]func(r *redistest.Server, key string){
		"a string": func(r *redistest.Server, key string) { r.Do("SET", key, "foreign") },
		"a list":   func(r *redistest.Server, key string) { r.Do("RPUSH", key, "foreign") },
	} {
		t.Run(name, func(t *testing.T) {
			s := startBelow(t, withPolicies(t, strictPolicies))
			s.foreignProgressIndex(t, plant)
			s.foreignParkedIndex(t, plant)
		})
	}
}

func (s *belowServer) foreignProgressIndex(t *testing.T, plant func(*redistest.Server, string)) {
	t.Helper()
	q := attempt("held", lease(time.Hour))
	token, record := s.holdAt(t, q)
	s.redis.Do("DEL", index(record, "progress"))
	plant(s.redis, index(record, "progress"))
	s.unchangedBy(t, "foreign index, claim held", []call{
		s.call("re-entry", q),
		s.call("Complete", completion("held", token)),
		s.call("Release", release("held", token)),
		s.call("Release park", park("held", token)),
		s.call("ExtendLease", extension("held", token)),
	})
	s.redis.Do("DEL", record)
	s.unchangedBy(t, "foreign index, claim absent", []call{
		s.call("CheckAndClaim", attempt("held")),
		s.call("Complete", completion("held", token)),
	})

	q = attempt("over", lease(50*time.Millisecond))
	_, record = s.holdAt(t, q)
	s.waitLeaseOver(t, q)
	s.redis.Do("DEL", index(record, "progress"))
	plant(s.redis, index(record, "progress"))
	s.unchangedBy(t, "foreign index, lease over", []call{
		s.call("take-over", attempt("over")),
		s.call("final take-over", attempt("over", final)),
	})
}

func (s *belowServer) foreignParkedIndex(t *testing.T, plant func(*redistest.Server, string)) {
	t.Helper()
	token, record := s.holdAt(t, attempt("to park", lease(time.Hour)))
	plant(s.redis, index(record, "parked"))
	s.unchangedBy(t, "foreign index of parked", []call{s.call("Release park", park("to park", token))})

	q := attempt("used up", in("few-attempts"), lease(50*time.Millisecond))
	_, record = s.holdAt(t, q)
	s.waitLeaseOver(t, q)
	s.hold(attempt("used up", in("few-attempts"), lease(50*time.Millisecond)))
	s.waitLeaseOver(t, q)
	plant(s.redis, index(record, "parked"))
	s.unchangedBy(t, "foreign index of parked, attempts used up", []call{
		s.call("CheckAndClaim", attempt("used up", in("few-attempts"))),
	})
}

func TestAnUnreadableResultIsAnErrorAndNoDuplicate(t *testing.T) {
	for name, plant := range map[string]plant{
		"a list":       foreign["a list"],
		"garbage":      foreign["garbage"],
		"schema 2":     foreign["schema 2"],
		"cut short":    planted(func(result string) string { return result[:len(result)-1] }),
		"one too many": foreign["one byte more"],
	} {
		t.Run(name, func(t *testing.T) {
			s := startBelow(t)
			token, record := s.holdAt(t, attempt("done"))
			s.complete(completion("done", token))
			result := strings.Replace(record, "}c", "}r", 1)
			plant(s.redis, result, s.redis.Do("GET", result).(string))
			s.unchangedBy(t, "unreadable result", []call{
				s.call("CheckAndClaim", attempt("done")),
				s.call("GetClaim", reading("done")),
			})
		})
	}
}
