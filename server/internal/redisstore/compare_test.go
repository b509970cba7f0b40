package redisstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/onceward/onceward/server/internal/memstore"
	"github.com/onceward/onceward/server/internal/onceward"
	"github.com/onceward/onceward/server/internal/redisstore"
)

// TestComparedWithTheDomain throws the same random operations at Redis and at
// the embedded store, which runs the domain's own decisions, and compares every
// answer. Durations are chosen so that no lease or retention ever ends within
// minutes of a look at it: the machine's speed cannot matter.
func TestComparedWithTheDomain(t *testing.T) {
	for _, l := range lanes(t) {
		t.Run(l.name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				redis, prefix := l.open(t)
				p := newPair(redis, func(d time.Duration) { l.advance(t, prefix, d) })
				defer p.close()
				for range rapid.IntRange(1, 40).Draw(rt, "operations") {
					p.step(rt)
				}
			})
		})
	}
}

// pair is two stores that must give the same answers.
type pair struct {
	redis, memory *side
	advanceRedis  func(time.Duration)
	shift         atomic.Int64
	stop          func()
}

// side is one of them, with the tokens it has given out, in order: the numbers
// differ, their places must not.
type side struct {
	service *onceward.Service
	tokens  []int64
	now     func() time.Time
}

func newPair(r *redisstore.Store, advance func(time.Duration)) *pair {
	p := &pair{advanceRedis: advance}
	shifted := func() time.Time { return time.Now().Add(time.Duration(p.shift.Load())) }
	m := memstore.New(shifted)
	p.stop = func() { m.Close(); r.Close() }
	p.redis = &side{service: onceward.NewService(r, comparedPolicies()), tokens: []int64{1}, now: time.Now}
	p.memory = &side{service: onceward.NewService(m, comparedPolicies()), tokens: []int64{1}, now: shifted}
	return p
}

func (p *pair) close() { p.stop() }

func comparedPolicies() *onceward.Policies {
	twice, careful := onceward.DefaultPolicy(), onceward.DefaultPolicy()
	twice.MaxAttempts = 2
	careful.OnStartedTakeover, careful.ReadableKeys = onceward.TakeoverReconcile, false
	p := onceward.DefaultPolicies()
	p.Namespaces = map[string]*onceward.Policy{"twice": &twice, "careful": &careful}
	for name, o := range map[string]onceward.Ordering{
		"ignore": {Gap: onceward.GapIgnore},
		"hold":   {Gap: onceward.GapHold, First: new(uint64(2))},
		"apply":  {Gap: onceward.GapApply, Transitions: map[string][]string{"pending": {"paid", "expired"}, "expired": {"paid"}}},
	} {
		byKey := onceward.DefaultPolicy()
		byKey.Ordering, byKey.Audit = o, onceward.AuditAll
		byKey.Ordering.Retention, byKey.Ordering.MaxFutureSkew = 7200*time.Second, 5*time.Minute
		byEntity := byKey
		byEntity.Routing = onceward.RouteByEntity
		p.Namespaces[name], p.Namespaces["serial-"+name] = &byKey, &byEntity
	}
	return p
}

func (p *pair) step(rt *rapid.T) {
	id := onceward.ClaimID{
		Namespace: rapid.SampledFrom([]string{"plain", "twice", "careful", "serial-ignore", "serial-hold", "serial-apply"}).Draw(rt, "namespace"),
		Key:       rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "key"),
	}
	if strings.HasPrefix(id.Namespace, "serial") {
		id.Entity = "e"
	}
	token := rapid.IntRange(0, 5).Draw(rt, "token, counted from the last")
	switch rapid.SampledFrom([]string{
		"claim", "claim", "claim", "complete", "complete", "release", "extend", "get", "advance", "apply", "apply", "apply",
		"get entity", "reconcile", "forget", "forget entity", "resolve", "decisions", "lists",
	}).Draw(rt, "verb") {
	case "apply":
		q := drawApply(rt)
		p.compare(rt, func(s *side) any {
			q := q
			v, err := s.service.ApplyIfNewer(rt.Context(), &q)
			return s.applied(v, err)
		})
	case "get entity":
		q := onceward.GetEntityRequest{EntityID: drawEntity(rt)}
		p.compare(rt, func(s *side) any {
			e, err := s.service.GetEntity(rt.Context(), &q)
			return s.entityRead(&e, err)
		})
	case "reconcile":
		q := onceward.ReconcileEntityRequest{
			EntityID: drawEntity(rt), Event: drawEvent(rt), Act: act, AllowBackwards: rapid.Bool().Draw(rt, "allow backwards"),
		}
		p.compare(rt, func(s *side) any {
			q := q
			o, e, err := s.service.ReconcileEntity(rt.Context(), &q)
			return fmt.Sprint(o, s.entityRead(&e, err))
		})
	case "forget entity":
		q := onceward.ForgetEntityRequest{EntityID: drawEntity(rt), Act: act}
		p.compare(rt, func(s *side) any {
			e, err := s.service.ForgetEntity(rt.Context(), &q)
			return s.entityRead(&e, err)
		})
	case "forget":
		p.compare(rt, func(s *side) any {
			c, err := s.service.ForgetClaim(rt.Context(), &onceward.ForgetClaimRequest{ClaimID: id, Act: act})
			return s.claimRead(c, err)
		})
	case "resolve":
		q := onceward.ResolveClaimRequest{ClaimID: id, Act: act, Resolution: rapid.SampledFrom([]onceward.Resolution{onceward.Done, onceward.NotDone}).Draw(rt, "resolution")}
		if q.Resolution == onceward.Done {
			q.Result = rapid.SampledFrom([][]byte{nil, []byte("by hand")}).Draw(rt, "result")
		}
		p.compare(rt, func(s *side) any {
			q := q
			c, err := s.service.ResolveClaim(rt.Context(), &q)
			return s.claimRead(c, err)
		})
	case "decisions":
		p.compare(rt, func(s *side) any { return s.decisions(rt, id) })
	case "lists":
		p.compare(rt, func(s *side) any { return s.lists(rt, id.Namespace) })
	case "claim":
		q := drawClaim(rt, id)
		p.compare(rt, func(s *side) any { return s.claim(rt, q) })
	case "complete":
		q := drawComplete(rt, id)
		p.compare(rt, func(s *side) any {
			q := q
			q.Token = s.token(token)
			v, err := s.service.Complete(rt.Context(), &q)
			return s.settlement(v, err)
		})
	case "release":
		q := drawRelease(rt, id)
		p.compare(rt, func(s *side) any {
			q := q
			q.Token = s.token(token)
			v, err := s.service.Release(rt.Context(), &q)
			return s.settlement(v, err)
		})
	case "extend":
		q := drawExtend(rt, id)
		p.compare(rt, func(s *side) any {
			q := q
			q.Token = s.token(token)
			v, err := s.service.ExtendLease(rt.Context(), &q)
			return s.settlement(v, err)
		})
	case "get":
		p.compare(rt, func(s *side) any {
			c, err := s.service.GetClaim(rt.Context(), &onceward.GetClaimRequest{ClaimID: id})
			return s.claimRead(c, err)
		})
	case "advance":
		d := time.Duration(rapid.IntRange(1, 5).Draw(rt, "thousand seconds")) * 1000 * time.Second
		p.shift.Add(int64(d))
		p.advanceRedis(d)
	}
}

func (p *pair) compare(rt *rapid.T, ask func(*side) any) {
	want, got := ask(p.memory), ask(p.redis)
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("the domain says -, Redis says +:\n%s", diff)
	}
}

func drawDuration(rt *rapid.T, what string, seconds ...int) onceward.Duration {
	s := rapid.SampledFrom(append(seconds, 0)).Draw(rt, what)
	return onceward.Duration{Set: s != 0, Value: time.Duration(s) * time.Second}
}

func drawClaim(rt *rapid.T, id onceward.ClaimID) onceward.CheckAndClaimRequest {
	q := onceward.CheckAndClaimRequest{
		ClaimID:     id,
		RequestID:   rapid.SampledFrom([]string{"r1", "r2", "r3"}).Draw(rt, "request"),
		Lease:       onceward.Of(rapid.SampledFrom([]time.Duration{500 * time.Second, 2500 * time.Second}).Draw(rt, "lease")),
		Retention:   onceward.Of(rapid.SampledFrom([]time.Duration{1200 * time.Second, 4200 * time.Second}).Draw(rt, "retention")),
		Fingerprint: rapid.SampledFrom([]string{"", "", "f", "g"}).Draw(rt, "fingerprint"),
		Owner:       rapid.SampledFrom([]string{"", "w1", "w2"}).Draw(rt, "owner"),
		Final:       rapid.IntRange(0, 5).Draw(rt, "final") == 0,
	}
	if id.Entity != "" {
		q.Ordered, q.Final, q.Event = true, false, drawEvent(rt)
	}
	if q.Final {
		q.Lease = onceward.Duration{}
	}
	return q
}

var act = onceward.Act{Actor: "ana", Reason: "because"}

func drawEntity(rt *rapid.T) onceward.EntityID {
	ns := rapid.SampledFrom([]string{"ignore", "hold", "apply", "serial-ignore", "serial-hold", "serial-apply"}).Draw(rt, "namespace")
	return onceward.EntityID{Namespace: ns, Entity: "e"}
}

// drawEvent draws versions that often meet: small sequences, the largest ones,
// and now and then another kind.
func drawEvent(rt *rapid.T) onceward.Event {
	v := onceward.Version{
		Kind:     rapid.SampledFrom([]onceward.VersionKind{onceward.Sequence, onceward.Sequence, onceward.Sequence, onceward.Sequence, onceward.Timestamp, onceward.Decimal, 0}).Draw(rt, "kind"),
		Epoch:    rapid.SampledFrom([]uint64{0, 0, 0, 0, 1}).Draw(rt, "epoch"),
		Rank:     rapid.SampledFrom([]int32{0, 0, 0, -1, 1}).Draw(rt, "rank"),
		Sequence: 0,
	}
	switch v.Kind {
	case onceward.Sequence:
		v.Sequence = rapid.OneOf(rapid.Uint64Range(0, 12), rapid.SampledFrom([]uint64{1<<53 + 1, 1<<64 - 2, 1<<64 - 1})).Draw(rt, "sequence")
	case onceward.Timestamp:
		v.Time = time.Unix(1755777600, int64(rapid.IntRange(0, 3).Draw(rt, "nanos"))).UTC()
		if rapid.IntRange(0, 9).Draw(rt, "future") == 0 {
			v.Time = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
		}
	case onceward.Decimal:
		v.Decimal = rapid.SampledFrom([]string{"7", "007", "10", "9"}).Draw(rt, "digits")
	case 0:
		v = onceward.Version{}
	}
	return onceward.Event{
		Version: v,
		ID:      rapid.SampledFrom([]string{"", "ev1", "ev2"}).Draw(rt, "event"),
		State:   rapid.SampledFrom([]string{"", "pending", "paid", "expired", "odd"}).Draw(rt, "state"),
	}
}

func drawApply(rt *rapid.T) onceward.ApplyIfNewerRequest {
	return onceward.ApplyIfNewerRequest{
		EntityID:  drawEntity(rt),
		Event:     drawEvent(rt),
		RequestID: rapid.SampledFrom([]string{"r1", "r2", "r3"}).Draw(rt, "request"),
		Retention: drawDuration(rt, "retention", 3700),
	}
}

func drawComplete(rt *rapid.T, id onceward.ClaimID) onceward.CompleteRequest {
	return onceward.CompleteRequest{
		ClaimID:         id,
		Result:          rapid.SampledFrom([][]byte{nil, {0}, []byte("paid"), {0xff, 0xfe}}).Draw(rt, "result"),
		ResultType:      rapid.SampledFrom([]string{"", "text/plain"}).Draw(rt, "type"),
		Failed:          rapid.Bool().Draw(rt, "failed"),
		Retention:       drawDuration(rt, "retention", 3200, 6200),
		ResultRetention: drawDuration(rt, "result retention", 1300, 3300),
	}
}

func drawRelease(rt *rapid.T, id onceward.ClaimID) onceward.ReleaseRequest {
	q := onceward.ReleaseRequest{
		ClaimID:    id,
		Reason:     rapid.SampledFrom([]string{"", "bank away"}).Draw(rt, "reason"),
		RetryAfter: drawDuration(rt, "retry after", 1500),
		Park:       rapid.IntRange(0, 3).Draw(rt, "park") == 0,
	}
	if q.Park {
		q.RetryAfter = onceward.Duration{}
	}
	return q
}

func drawExtend(rt *rapid.T, id onceward.ClaimID) onceward.ExtendLeaseRequest {
	return onceward.ExtendLeaseRequest{
		ClaimID:       id,
		Lease:         onceward.Of(rapid.SampledFrom([]time.Duration{500 * time.Second, 1500 * time.Second}).Draw(rt, "lease")),
		EffectStarted: rapid.Bool().Draw(rt, "effect started"),
	}
}

// token is one given out, counted from the last; the first ones belong to
// nobody.
func (s *side) token(back int) int64 { return s.tokens[max(0, len(s.tokens)-1-back)] }

// place is a token's place among those given out; 0 for none.
func (s *side) place(token int64) int {
	if token == 0 {
		return 0
	}
	if i := slices.Index(s.tokens, token); i >= 0 {
		return i
	}
	s.tokens = append(s.tokens, token)
	return len(s.tokens) - 1
}

// in is how far off an instant is, in hundreds of seconds; "" for no instant.
func (s *side) in(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return fmt.Sprint(t.Sub(s.now()).Round(100 * time.Second))
}

// reason stands for an error: its reason and the fields at fault.
func reason(err error) string {
	var e *onceward.Error
	if errors.As(err, &e) {
		return fmt.Sprint(e.Reason, e.Violations)
	}
	return fmt.Sprint(err)
}

func (s *side) claim(rt *rapid.T, q onceward.CheckAndClaimRequest) any {
	v, err := s.service.CheckAndClaim(rt.Context(), &q)
	if err != nil {
		return reason(err)
	}
	var takeover onceward.Takeover
	if v.Takeover != nil {
		takeover = *v.Takeover
	}
	return map[string]any{
		"outcome": v.Outcome, "token": s.place(v.Token), "attempt": v.Attempt, "reentrant": v.Reentrant,
		"takeover": takeover, "lease end": s.in(v.LeaseExpiresAt), "retained": s.in(v.RetainedUntil),
		"retry after": v.RetryAfter.Round(100 * time.Second).String(), "completed": v.CompletedAt.IsZero(),
		"type": v.Result.Type, "result": string(v.Result.Body), "result expired": v.ResultExpired,
		"order": v.Order, "entity": s.entityRead(v.Entity, nil),
	}
}

func (s *side) applied(v onceward.ApplyVerdict, err error) any {
	if err != nil {
		return reason(err)
	}
	return map[string]any{
		"outcome": v.Outcome, "previous": v.Previous, "first": v.FirstSeen, "reentrant": v.Reentrant, "fills": v.FillsGap,
		"retry after": v.RetryAfter.Round(100 * time.Second).String(), "current": s.entityRead(&v.Current, nil),
	}
}

func (s *side) entityRead(e *onceward.Entity, err error) any {
	if err != nil {
		return reason(err)
	}
	if e == nil || !e.Known() {
		return "unknown"
	}
	return map[string]any{
		"applied": e.Applied, "version": e.Version, "event": e.EventID, "state": e.State, "at": e.AppliedAt.IsZero(),
		"missing": fmt.Sprint(e.Missing), "truncated": e.Truncated, "open": e.Open, "reason": e.Reason, "flagged": e.FlaggedAt.IsZero(),
	}
}

// decisions are what the log says of a claim.
func (s *side) decisions(rt *rapid.T, id onceward.ClaimID) any {
	page, err := s.service.ListDecisions(rt.Context(), &onceward.ListDecisionsRequest{Namespace: id.Namespace, Key: id.Key, Entity: id.Entity})
	if err != nil {
		return reason(err)
	}
	for i := range page.Decisions {
		page.Decisions[i].At = time.Time{}
	}
	return page.Decisions
}

// lists are the names in every list of a namespace, and what the overview counts.
func (s *side) lists(rt *rapid.T, namespace string) any {
	var out []string
	for _, state := range []onceward.State{onceward.InProgress, onceward.Expired, onceward.Parked} {
		page, err := s.service.ListClaims(rt.Context(), &onceward.ListClaimsRequest{Namespace: namespace, State: state})
		if err != nil {
			return reason(err)
		}
		for _, c := range page.Claims {
			out = append(out, fmt.Sprint(state, c.Key, c.Attempt, c.Owner))
		}
	}
	page, err := s.service.ListEntities(rt.Context(), &onceward.ListEntitiesRequest{Namespace: namespace})
	if err != nil {
		return reason(err)
	}
	for _, e := range page.Entities {
		out = append(out, fmt.Sprint(e.EntityID.Entity, e.Reason, e.Missing))
	}
	o, err := s.service.Overview(rt.Context(), namespace)
	if err != nil {
		return reason(err)
	}
	if n := o.Namespaces[namespace]; n != nil {
		out = append(out, fmt.Sprint(n.InProgress, n.Expired, n.Parked, n.NeedsReconcile))
	}
	return out
}

func (s *side) settlement(v onceward.Settlement, err error) any {
	if err != nil {
		return reason(err)
	}
	return map[string]any{
		"outcome": v.Outcome, "state": v.State, "late": v.Late, "recreated": v.Recreated,
		"lease end": s.in(v.LeaseExpiresAt), "retained": s.in(v.RetainedUntil), "entity": s.entityRead(v.Entity, nil),
	}
}

func (s *side) claimRead(c onceward.Claim, err error) any {
	if err != nil {
		return reason(err)
	}
	return map[string]any{
		"state": c.State, "attempt": c.Attempt, "owner": c.Owner, "started": c.EffectStarted, "token": s.place(c.Token),
		"lease end": s.in(c.LeaseExpiresAt), "retained": s.in(c.RetainedUntil), "completed": c.CompletedAt.IsZero(),
		"first": c.FirstClaimedAt.IsZero(), "reason": c.Reason, "fingerprint": c.Fingerprint,
		"type": c.Result.Type, "result": string(c.Result.Body),
	}
}
