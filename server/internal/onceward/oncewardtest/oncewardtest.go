// Package oncewardtest is the behaviour that every store must have: one suite,
// run over the embedded store, Redis and Redis Cluster.
package oncewardtest

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/onceward/onceward/server/internal/onceward"
)

// Harness is one store under test.
type Harness struct {
	Store onceward.Store

	// Advance lets time pass for the store's records: leases and retentions get
	// shorter by d. Nothing in the suite depends on how fast the machine is.
	Advance func(d time.Duration)

	// Now is the store's time as it shows in its answers.
	Now func() time.Time
}

// Run runs the suite. newHarness is called once for each test and must give a
// store in which no other test's records are.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	for _, group := range []struct {
		verb  string
		tests []test
	}{
		{"check_and_claim", checkAndClaim},
		{"complete", complete},
		{"release", release},
		{"extend_lease", extendLease},
		{"get_claim", getClaim},
		{"wait", wait},
		{"apply_if_newer", applyIfNewer},
		{"reconcile_entity", reconcileEntity},
		{"ordered_claims", orderedClaims},
		{"operators", operators},
		{"shadow", shadowMode},
	} {
		t.Run(group.verb, func(t *testing.T) {
			for _, tc := range group.tests {
				t.Run(tc.holds, func(t *testing.T) {
					t.Parallel()
					h := newHarness(t)
					tc.run(&world{T: t, service: onceward.NewService(h.Store, policies()), advance: h.Advance, now: h.Now})
				})
			}
		})
	}
}

// test is one thing that holds.
type test struct {
	holds string
	run   func(w *world)
}

// Namespaces of the suite, named after what is special about them.
const (
	plain    = "plain"
	twice    = "twice"    // max_attempts: 2
	careful  = "careful"  // on_started_takeover: reconcile
	nofinal  = "nofinal"  // allow_final: false
	hidden   = "hidden"   // readable_keys: false
	lowered  = "lowered"  // max_retention: 1000h
	smallest = "smallest" // max_result_bytes: 4
	hold     = "hold"     // gap: hold
	fromOne  = "from1"    // gap: hold, first: 1
	holes    = "holes"    // gap: apply
	states   = "states"   // transitions
	serial   = "serial"   // routing: entity
	chain    = "chain"    // routing: entity, gap: hold
	audited  = "audited"  // audit: all
	ageless  = "ageless"  // ordering.retention: 0
	shadow   = "shadow"   // shadow: true

	heldStates   = "held-states"   // gap: hold, first: 5, transitions
	serialStates = "serial-states" // routing: entity, transitions
)

func policies() *onceward.Policies {
	p := onceward.DefaultPolicies()
	p.Namespaces = map[string]*onceward.Policy{}
	for name, change := range map[string]func(*onceward.Policy){
		twice:    func(p *onceward.Policy) { p.MaxAttempts = 2 },
		careful:  func(p *onceward.Policy) { p.OnStartedTakeover = onceward.TakeoverReconcile },
		nofinal:  func(p *onceward.Policy) { p.AllowFinal = false },
		hidden:   func(p *onceward.Policy) { p.ReadableKeys = false },
		lowered:  func(p *onceward.Policy) { p.MaxRetention = 1000 * time.Hour },
		smallest: func(p *onceward.Policy) { p.MaxResultBytes = 4 },
		hold:     func(p *onceward.Policy) { p.Ordering.Gap = onceward.GapHold },
		fromOne:  func(p *onceward.Policy) { p.Ordering.Gap, p.Ordering.First = onceward.GapHold, new(uint64(1)) },
		holes:    func(p *onceward.Policy) { p.Ordering.Gap = onceward.GapApply },
		states: func(p *onceward.Policy) {
			p.Ordering.Transitions = map[string][]string{"pending": {"paid", "expired"}, "expired": {"paid"}, "paid": {"refunded"}}
		},
		serial:  func(p *onceward.Policy) { p.Routing = onceward.RouteByEntity },
		chain:   func(p *onceward.Policy) { p.Routing, p.Ordering.Gap = onceward.RouteByEntity, onceward.GapHold },
		audited: func(p *onceward.Policy) { p.Audit = onceward.AuditAll },
		ageless: func(p *onceward.Policy) { p.Ordering.Retention = 0 },
		shadow:  func(p *onceward.Policy) { p.Shadow = true },
		heldStates: func(p *onceward.Policy) {
			p.Ordering.Gap, p.Ordering.First = onceward.GapHold, new(uint64(5))
			p.Ordering.Transitions = map[string][]string{"pending": {"paid"}}
		},
		serialStates: func(p *onceward.Policy) {
			p.Routing, p.Ordering.Transitions = onceward.RouteByEntity, map[string][]string{"pending": {"paid"}}
		},
	} {
		policy := onceward.DefaultPolicy()
		change(&policy)
		p.Namespaces[name] = &policy
	}
	return p
}

// world is what a test acts in.
type world struct {
	*testing.T
	service *onceward.Service
	advance func(time.Duration)
	now     func() time.Time
}

func id(namespace, key string) onceward.ClaimID {
	return onceward.ClaimID{Namespace: namespace, Key: key}
}

// ask claims key in namespace plain under a fresh request_id; change makes the
// request another.
func (w *world) ask(key string, change ...func(*onceward.CheckAndClaimRequest)) onceward.ClaimVerdict {
	w.Helper()
	q := &onceward.CheckAndClaimRequest{ClaimID: id(plain, key), RequestID: rand.Text(), Lease: onceward.Of(20 * time.Second)}
	for _, c := range change {
		c(q)
	}
	v, err := w.service.CheckAndClaim(w.Context(), q)
	if err != nil {
		w.Fatalf("CheckAndClaim: %v", err)
	}
	return v
}

// claim is ask for a claim that must be granted.
func (w *world) claim(key string, change ...func(*onceward.CheckAndClaimRequest)) onceward.ClaimVerdict {
	w.Helper()
	v := w.ask(key, change...)
	w.outcome(v, onceward.Claimed)
	return v
}

func (w *world) outcome(v onceward.ClaimVerdict, want onceward.ClaimOutcome) {
	w.Helper()
	if v.Outcome != want {
		w.Fatalf("outcome is %v, want %v: %+v", v.Outcome, want, v)
	}
	if (v.Token != 0) != (want == onceward.Claimed) {
		w.Errorf("token is %d with outcome %v", v.Token, want)
	}
}

func (w *world) complete(key string, token int64, change ...func(*onceward.CompleteRequest)) onceward.Settlement {
	w.Helper()
	q := &onceward.CompleteRequest{ClaimID: id(plain, key), Token: token}
	for _, c := range change {
		c(q)
	}
	s, err := w.service.Complete(w.Context(), q)
	if err != nil {
		w.Fatalf("Complete: %v", err)
	}
	return s
}

func (w *world) release(key string, token int64, change ...func(*onceward.ReleaseRequest)) onceward.Settlement {
	w.Helper()
	q := &onceward.ReleaseRequest{ClaimID: id(plain, key), Token: token}
	for _, c := range change {
		c(q)
	}
	s, err := w.service.Release(w.Context(), q)
	if err != nil {
		w.Fatalf("Release: %v", err)
	}
	return s
}

func (w *world) extend(key string, token int64, change ...func(*onceward.ExtendLeaseRequest)) onceward.Settlement {
	w.Helper()
	q := &onceward.ExtendLeaseRequest{ClaimID: id(plain, key), Token: token, Lease: onceward.Of(20 * time.Second)}
	for _, c := range change {
		c(q)
	}
	s, err := w.service.ExtendLease(w.Context(), q)
	if err != nil {
		w.Fatalf("ExtendLease: %v", err)
	}
	return s
}

func (w *world) get(namespace, key string) onceward.Claim {
	w.Helper()
	c, err := w.service.GetClaim(w.Context(), &onceward.GetClaimRequest{ClaimID: id(namespace, key)})
	if err != nil {
		w.Fatalf("GetClaim: %v", err)
	}
	return c
}

// settled wants an answer with an outcome and the state that is there.
func (w *world) settled(s onceward.Settlement, outcome onceward.SettleOutcome, state onceward.State) {
	w.Helper()
	if s.Outcome != outcome || s.State != state {
		w.Fatalf("answer is %v with state %v, want %v with %v", s.Outcome, s.State, outcome, state)
	}
}

// refused wants an error with a reason, and with it the field at fault.
func (w *world) refused(err error, reason onceward.Reason, field string) {
	w.Helper()
	var e *onceward.Error
	if !errors.As(err, &e) || e.Reason != reason {
		w.Fatalf("error is %v, want reason %s", err, reason)
	}
	if field != "" && (len(e.Violations) == 0 || e.Violations[0].Field != field) {
		w.Fatalf("violations are %v, want field %s", e.Violations, field)
	}
}

// near wants an instant that is d from now; the suite's durations are so long
// that ten seconds do not matter.
func (w *world) near(what string, got time.Time, d time.Duration) {
	w.Helper()
	in := got.Sub(w.now())
	if diff := in - d; diff < -10*time.Second || diff > 10*time.Second {
		w.Errorf("%s is in %s, want about %s", what, in, d)
	}
}

// Changes of requests, by the namespace or field they set.

func in(namespace string) func(*onceward.CheckAndClaimRequest) {
	return func(q *onceward.CheckAndClaimRequest) { q.Namespace = namespace }
}

func request(id string) func(*onceward.CheckAndClaimRequest) {
	return func(q *onceward.CheckAndClaimRequest) { q.RequestID = id }
}

func leased(d time.Duration) func(*onceward.CheckAndClaimRequest) {
	return func(q *onceward.CheckAndClaimRequest) { q.Lease = onceward.Of(d) }
}

func retained(d time.Duration) func(*onceward.CheckAndClaimRequest) {
	return func(q *onceward.CheckAndClaimRequest) { q.Retention = onceward.Of(d) }
}

func fingerprint(f string) func(*onceward.CheckAndClaimRequest) {
	return func(q *onceward.CheckAndClaimRequest) { q.Fingerprint = f }
}

func owner(o string) func(*onceward.CheckAndClaimRequest) {
	return func(q *onceward.CheckAndClaimRequest) { q.Owner = o }
}

func final(q *onceward.CheckAndClaimRequest) { q.Final, q.Lease = true, onceward.Duration{} }

func result(kind, body string) func(*onceward.CompleteRequest) {
	return func(q *onceward.CompleteRequest) { q.ResultType, q.Result = kind, []byte(body) }
}

func failed(q *onceward.CompleteRequest) { q.Failed = true }

func completeIn(namespace string) func(*onceward.CompleteRequest) {
	return func(q *onceward.CompleteRequest) { q.Namespace = namespace }
}

func park(q *onceward.ReleaseRequest) { q.Park = true }

func because(reason string) func(*onceward.ReleaseRequest) {
	return func(q *onceward.ReleaseRequest) { q.Reason = reason }
}

func releaseIn(namespace string) func(*onceward.ReleaseRequest) {
	return func(q *onceward.ReleaseRequest) { q.Namespace = namespace }
}

func holdBack(d time.Duration) func(*onceward.ReleaseRequest) {
	return func(q *onceward.ReleaseRequest) { q.RetryAfter = onceward.Of(d) }
}

func effectStarted(q *onceward.ExtendLeaseRequest) { q.EffectStarted = true }

func extendIn(namespace string) func(*onceward.ExtendLeaseRequest) {
	return func(q *onceward.ExtendLeaseRequest) { q.Namespace = namespace }
}
