package oncewardtest

import (
	"fmt"
	"time"

	"github.com/onceward/onceward/server/internal/onceward"
)

// order makes a request an ordered one, of entity e in a namespace.
func order(namespace string, v onceward.Version) func(*onceward.CheckAndClaimRequest) {
	return func(q *onceward.CheckAndClaimRequest) {
		q.Namespace, q.Entity, q.Ordered, q.Event.Version = namespace, "e", true, v
	}
}

func bringing(s string) func(*onceward.CheckAndClaimRequest) {
	return func(q *onceward.CheckAndClaimRequest) { q.Event.State = s }
}

func completeOf(namespace string) func(*onceward.CompleteRequest) {
	return func(q *onceward.CompleteRequest) { q.Namespace, q.Entity = namespace, "e" }
}

func releaseOf(namespace string) func(*onceward.ReleaseRequest) {
	return func(q *onceward.ReleaseRequest) { q.Namespace, q.Entity = namespace, "e" }
}

func extendOf(namespace string) func(*onceward.ExtendLeaseRequest) {
	return func(q *onceward.ExtendLeaseRequest) { q.Namespace, q.Entity = namespace, "e" }
}

func (w *world) outOfOrder(v onceward.ClaimVerdict, want onceward.ApplyOutcome) {
	w.Helper()
	w.outcome(v, onceward.OutOfOrder)
	if v.Order != want || v.Entity == nil || v.Attempt != 0 || (v.RetryAfter > 0) != (want == onceward.Busy) {
		w.Fatalf("out of order as %v, want %v: %+v", v.Order, want, v)
	}
}

var orderedClaims = []test{
	{"need an entity, and a lease", func(w *world) {
		_, err := w.service.CheckAndClaim(w.Context(), &onceward.CheckAndClaimRequest{ClaimID: id(serial, "k")})
		w.refused(err, onceward.ReasonFieldInvalid, "order.entity")
		_, err = w.service.Complete(w.Context(), &onceward.CompleteRequest{ClaimID: id(serial, "k"), Token: 1})
		w.refused(err, onceward.ReasonFieldInvalid, "entity")
		q := &onceward.CheckAndClaimRequest{ClaimID: id(serial, "k"), Final: true}
		q.Entity = "e"
		_, err = w.service.CheckAndClaim(w.Context(), q)
		w.refused(err, onceward.ReasonFieldInvalid, "final")
	}},
	{"reserve their version, and others are busy while the lease lives", func(w *world) {
		c := w.claim("k5", order(serial, seq(5)))
		w.outOfOrder(w.ask("k6", order(serial, seq(6))), onceward.Busy)
		w.applied(w.apply(serial, seq(6)), onceward.Busy, onceward.Version{})
		w.claim("k1", order(serial, seq(1)), func(q *onceward.CheckAndClaimRequest) { q.Entity = "other" })
		s := w.complete("k5", c.Token, completeOf(serial))
		if s.Outcome != onceward.OK || s.Entity == nil || s.Entity.Version != seq(5) || s.Entity.EventID != "k5" {
			w.Fatalf("completion is %+v (%+v)", s, s.Entity)
		}
		if v := w.claim("k6", order(serial, seq(6))); v.Entity == nil || v.Entity.Version != seq(5) {
			w.Errorf("claim is %+v", v)
		}
	}},
	{"move the watermark at completion, with the state", func(w *world) {
		c := w.claim("k5", order(serial, seq(5)), bringing("paid"))
		if w.entity(serial, "e").Known() {
			w.Error("the watermark moved at the claim")
		}
		w.complete("k5", c.Token, completeOf(serial))
		if e := w.entity(serial, "e"); e.Version != seq(5) || e.State != "paid" {
			w.Errorf("entity is %+v", e)
		}
	}},
	{"move it when they fail for good, too", func(w *world) {
		c := w.claim("k5", order(serial, seq(5)))
		w.complete("k5", c.Token, completeOf(serial), failed)
		w.outOfOrder(w.ask("k4", order(serial, seq(4))), onceward.Stale)
	}},
	{"of an old version leave no claim behind", func(w *world) {
		c := w.claim("k5", order(serial, seq(5)))
		w.complete("k5", c.Token, completeOf(serial))
		w.outOfOrder(w.ask("k4", order(serial, seq(4))), onceward.Stale)
		w.outOfOrder(w.ask("other", order(serial, seq(5))), onceward.Tie)
		q := &onceward.GetClaimRequest{ClaimID: onceward.ClaimID{Namespace: serial, Key: "k4", Entity: "e"}}
		if got, err := w.service.GetClaim(w.Context(), q); err != nil || got.State != onceward.Absent {
			w.Errorf("claim is %+v, %v", got, err)
		}
	}},
	{"answer duplicate before their version is looked at", func(w *world) {
		c := w.claim("k5", order(serial, seq(5)))
		w.complete("k5", c.Token, completeOf(serial), result("", "r5"))
		v := w.ask("k5", order(serial, seq(5)))
		w.outcome(v, onceward.Duplicate)
		if string(v.Result.Body) != "r5" {
			w.Errorf("duplicate is %+v", v)
		}
	}},
	{"can be claimed again after a crash", func(w *world) {
		first := w.claim("k5", order(serial, seq(5)))
		w.advance(30 * time.Second)
		v := w.claim("k5", order(serial, seq(5)))
		if v.Attempt != 2 || v.Takeover == nil {
			w.Errorf("claim is %+v", v)
		}
		w.settled(w.complete("k5", first.Token, completeOf(serial)), onceward.Lost, onceward.InProgress)
		if w.entity(serial, "e").Known() {
			w.Error("a lost completion moved the watermark")
		}
	}},
	{"free the entity when released or parked", func(w *world) {
		c := w.claim("k5", order(serial, seq(5)))
		w.release("k5", c.Token, releaseOf(serial))
		c = w.claim("k6", order(serial, seq(6)))
		w.release("k6", c.Token, releaseOf(serial), park)
		w.claim("k7", order(serial, seq(7)))
		w.outcome(w.ask("k6", order(serial, seq(6))), onceward.IsParked)
	}},
	{"without a version are worked on one after another", func(w *world) {
		none := onceward.Version{}
		c := w.claim("ka", order(serial, none))
		w.outOfOrder(w.ask("kb", order(serial, none)), onceward.Busy)
		w.complete("ka", c.Token, completeOf(serial))
		w.claim("kb", order(serial, none))
	}},
	{"re-enter, and make others wait, before the order is asked", func(w *world) {
		c := w.claim("k5", order(serial, seq(5)), request("a"))
		if v := w.claim("k5", order(serial, seq(5)), request("a")); !v.Reentrant || v.Token != c.Token {
			w.Errorf("re-entry is %+v", v)
		}
		w.outcome(w.ask("k5", order(serial, seq(5)), request("b")), onceward.StillInProgress)
	}},
	{"win nothing back once the entity went on", func(w *world) {
		old := w.claim("k5", order(serial, seq(5)), request("a"))
		w.advance(30 * time.Second)
		next := w.claim("k6", order(serial, seq(6)))
		w.settled(w.extend("k5", old.Token, extendOf(serial)), onceward.Lost, onceward.Expired)
		w.outOfOrder(w.ask("k5", order(serial, seq(5)), request("a")), onceward.Busy)
		w.complete("k6", next.Token, completeOf(serial))
		w.settled(w.extend("k5", old.Token, extendOf(serial)), onceward.Lost, onceward.Expired)
		w.outOfOrder(w.ask("k5", order(serial, seq(5)), request("a")), onceward.Stale)
	}},
	{"without a version win nothing back either, and undo no state", func(w *world) {
		none := onceward.Version{}
		old := w.claim("a", order(serialStates, none), bringing("pending"))
		w.advance(30 * time.Second)
		next := w.claim("b", order(serialStates, seq(1)), bringing("paid"))
		w.complete("b", next.Token, completeOf(serialStates))
		w.settled(w.extend("a", old.Token, extendOf(serialStates)), onceward.Lost, onceward.Expired)
		s := w.complete("a", old.Token, completeOf(serialStates))
		if s.Outcome != onceward.OK || !s.Late || s.Entity.State != "paid" {
			w.Errorf("completion is %+v (%+v)", s, s.Entity)
		}
	}},
	{"keep the entity as long as their lease is extended", func(w *world) {
		c := w.claim("k5", order(serial, seq(5)))
		w.advance(10 * time.Second)
		w.extend("k5", c.Token, extendOf(serial))
		w.advance(15 * time.Second)
		w.outOfOrder(w.ask("k6", order(serial, seq(6))), onceward.Busy)
	}},
	{"completed late do not move the watermark back", func(w *world) {
		old := w.claim("k5", order(serial, seq(5)))
		w.advance(30 * time.Second)
		next := w.claim("k6", order(serial, seq(6)))
		w.complete("k6", next.Token, completeOf(serial))
		s := w.complete("k5", old.Token, completeOf(serial))
		if s.Outcome != onceward.OK || !s.Late || s.Entity.Version != seq(6) {
			w.Errorf("completion is %+v (%+v)", s, s.Entity)
		}
	}},
	{"completed late do not end another's hold", func(w *world) {
		old := w.claim("k5", order(serial, seq(5)))
		w.advance(30 * time.Second)
		w.claim("k6", order(serial, seq(6)))
		w.complete("k5", old.Token, completeOf(serial))
		w.outOfOrder(w.ask("k7", order(serial, seq(7))), onceward.Busy)
	}},
	{"wait for a hole before them to fill", func(w *world) {
		c := w.claim("k1", order(chain, seq(1)))
		w.complete("k1", c.Token, completeOf(chain))
		v := w.ask("k3", order(chain, seq(3)))
		w.outOfOrder(v, onceward.GapBefore)
		w.missing(*v.Entity, onceward.Range{First: 2, Last: 2})
		c = w.claim("k2", order(chain, seq(2)))
		w.complete("k2", c.Token, completeOf(chain))
		w.missing(w.entity(chain, "e"))
		w.claim("k3", order(chain, seq(3)))
	}},
}

func (w *world) resolve(key string, r onceward.Resolution, change ...func(*onceward.ResolveClaimRequest)) (onceward.Claim, error) {
	q := &onceward.ResolveClaimRequest{ClaimID: id(plain, key), Act: onceward.Act{Actor: "ana", Reason: "looked it up"}, Resolution: r}
	for _, c := range change {
		c(q)
	}
	return w.service.ResolveClaim(w.Context(), q)
}

func (w *world) forget(key string) onceward.Claim {
	w.Helper()
	q := &onceward.ForgetClaimRequest{ClaimID: id(plain, key), Act: onceward.Act{Actor: "ana", Reason: "ticket 12"}}
	was, err := w.service.ForgetClaim(w.Context(), q)
	if err != nil {
		w.Fatalf("ForgetClaim: %v", err)
	}
	return was
}

var operators = []test{
	{"must say who and why", func(w *world) {
		_, err := w.service.ForgetClaim(w.Context(), &onceward.ForgetClaimRequest{ClaimID: id(plain, "k"), Act: onceward.Act{Reason: "r"}})
		w.refused(err, onceward.ReasonFieldInvalid, "actor")
		_, err = w.service.ForgetEntity(w.Context(), &onceward.ForgetEntityRequest{EntityID: entity(plain, "e"), Act: onceward.Act{Actor: "a"}})
		w.refused(err, onceward.ReasonFieldInvalid, "reason")
	}},
	{"forget a claim, and old tokens stay lost", func(w *world) {
		c := w.claim("k", fingerprint("f"))
		w.complete("k", c.Token, result("", "r"))
		if was := w.forget("k"); was.State != onceward.Completed || was.Token != c.Token || string(was.Result.Body) != "r" {
			w.Errorf("forgotten is %+v", was)
		}
		if got := w.get(plain, "k"); got.State != onceward.Absent || got.Token != 0 {
			w.Errorf("claim is %+v", got)
		}
		w.settled(w.complete("k", c.Token), onceward.Lost, onceward.Absent)
		again := w.claim("k", fingerprint("g"))
		if again.Attempt != 1 || again.Token <= c.Token || again.Takeover != nil {
			w.Errorf("claim is %+v", again)
		}
		w.settled(w.complete("k", c.Token), onceward.Lost, onceward.InProgress)
		w.settled(w.complete("k", again.Token), onceward.OK, onceward.Completed)
		if v := w.ask("k"); v.Result.Body != nil || v.ResultExpired {
			w.Errorf("the forgotten result is back: %+v", v)
		}
		if was := w.forget("never seen"); was.State != onceward.Absent {
			w.Errorf("forgotten is %+v", was)
		}
	}},
	{"forget a claim in progress, and its holder has lost it", func(w *world) {
		c := w.claim("k")
		w.forget("k")
		w.settled(w.extend("k", c.Token), onceward.Lost, onceward.Absent)
		w.settled(w.release("k", c.Token), onceward.Lost, onceward.Absent)
		w.settled(w.complete("k", c.Token), onceward.Lost, onceward.Absent)
	}},
	{"resolve a parked claim either way", func(w *world) {
		c := w.claim("done")
		w.release("done", c.Token, park)
		got, err := w.resolve("done", onceward.Done, func(q *onceward.ResolveClaimRequest) { q.Result = []byte("by hand") })
		if err != nil || got.State != onceward.Completed || string(got.Result.Body) != "by hand" {
			w.Fatalf("%+v, %v", got, err)
		}
		w.outcome(w.ask("done"), onceward.Duplicate)
		if got, err := w.resolve("done", onceward.Done); err != nil || got.State != onceward.Completed {
			w.Errorf("the repeat says %+v, %v", got, err)
		}
		_, err = w.resolve("done", onceward.NotDone)
		w.refused(err, onceward.ReasonClaimSettled, "")

		c = w.claim("not done")
		w.extend("not done", c.Token, effectStarted)
		w.release("not done", c.Token, park)
		if got, err := w.resolve("not done", onceward.NotDone); err != nil || got.State != onceward.Released || got.EffectStarted {
			w.Fatalf("%+v, %v", got, err)
		}
		v := w.claim("not done")
		if v.Attempt != 2 || v.Token <= c.Token {
			w.Errorf("claim is %+v", v)
		}
	}},
	{"end the old holder's token by resolving", func(w *world) {
		for i, r := range []onceward.Resolution{onceward.Done, onceward.NotDone} {
			key := fmt.Sprint("k", i)
			c := w.claim(key)
			w.advance(30 * time.Second)
			if _, err := w.resolve(key, r); err != nil {
				w.Fatal(err)
			}
			if s := w.complete(key, c.Token); s.Outcome != onceward.Lost {
				w.Errorf("completion is %+v", s)
			}
		}
	}},
	{"let an event be tried again with its attempts used up", func(w *world) {
		for range 2 {
			w.claim("k", in(twice))
			w.advance(30 * time.Second)
		}
		w.outcome(w.ask("k", in(twice)), onceward.IsParked)
		if _, err := w.resolve("k", onceward.NotDone, func(q *onceward.ResolveClaimRequest) { q.Namespace = twice }); err != nil {
			w.Fatal(err)
		}
		for range 2 {
			w.claim("k", in(twice))
			w.advance(30 * time.Second)
		}
		w.outcome(w.ask("k", in(twice)), onceward.IsParked)
	}},
	{"cannot resolve what is held, or nothing", func(w *world) {
		w.claim("k")
		_, err := w.resolve("k", onceward.Done)
		w.refused(err, onceward.ReasonClaimHeld, "")
		_, err = w.resolve("absent", onceward.Done)
		w.refused(err, onceward.ReasonClaimNotFound, "")
		_, err = w.resolve("k", 0)
		w.refused(err, onceward.ReasonFieldInvalid, "resolution")
	}},
	{"see what is in progress, expired and parked, until it is not", func(w *world) {
		expired := w.claim("expired", leased(time.Second))
		w.advance(5 * time.Second)
		w.claim("running", owner("w1"))
		c := w.claim("parked")
		w.release("parked", c.Token, park, because("no idea"))
		done := w.claim("done")
		w.complete("done", done.Token)
		for state, want := range map[onceward.State]string{onceward.InProgress: "running", onceward.Expired: "expired", onceward.Parked: "parked"} {
			got := w.list(state)
			if len(got) != 1 || got[0].Key != want || got[0].State != state || got[0].Namespace != plain {
				w.Errorf("%v: %+v", state, got)
			}
		}
		o, err := w.service.Overview(w.Context(), plain)
		if err != nil || o.Store == "" {
			w.Fatalf("%+v, %v", o, err)
		}
		if n := o.Namespaces[plain]; n == nil || n.InProgress != 1 || n.Expired != 1 || n.Parked != 1 || n.OldestInProgress.IsZero() {
			w.Errorf("overview is %+v", n)
		}
		w.complete("expired", expired.Token)
		w.forget("parked")
		if got := append(w.list(onceward.Expired), w.list(onceward.Parked)...); len(got) != 0 {
			w.Errorf("still listed: %+v", got)
		}
	}},
	{"page through entities while they are reconciled, each once", func(w *world) {
		const n = 300
		named := func(i int) func(*onceward.ApplyIfNewerRequest) {
			return func(q *onceward.ApplyIfNewerRequest) { q.Entity = fmt.Sprint("e", i) }
		}
		together(10, func(i int) {
			for ; i < n; i += 10 {
				w.apply(plain, seq(1), event("A"), named(i))
				w.apply(plain, seq(1), event("B"), named(i))
			}
		})
		seen := map[string]int{}
		q := &onceward.ListEntitiesRequest{Namespace: plain, Page: onceward.Page{Size: 7}}
		for {
			page, err := w.service.ListEntities(w.Context(), q)
			if err != nil || len(page.Entities) > 7 {
				w.Fatalf("a page of %d, %v", len(page.Entities), err)
			}
			for _, e := range page.Entities {
				seen[e.EntityID.Entity]++
				w.reconcile(plain, seq(2), func(q *onceward.ReconcileEntityRequest) { q.Entity = e.EntityID.Entity })
			}
			if page.Next == "" {
				break
			}
			q.Page = onceward.Page{Size: 7, Token: page.Next}
		}
		for i := range n {
			if times := seen[fmt.Sprint("e", i)]; times != 1 {
				w.Errorf("entity %d was listed %d times", i, times)
			}
		}
	}},
	{"page through claims, each once and never more than asked for", func(w *world) {
		const n = 50
		for i := range n {
			w.claim(fmt.Sprint("k", i))
		}
		for _, size := range []int{1, 7, 25, 50, 51} {
			seen := map[string]bool{}
			q := &onceward.ListClaimsRequest{Namespace: plain, State: onceward.InProgress, Page: onceward.Page{Size: size}}
			for {
				page, err := w.service.ListClaims(w.Context(), q)
				if err != nil || len(page.Claims) > size {
					w.Fatalf("a page of %d for %d, %v", len(page.Claims), size, err)
				}
				for _, c := range page.Claims {
					if seen[c.Key] {
						w.Errorf("%s is listed twice", c.Key)
					}
					seen[c.Key] = true
				}
				if page.Next == "" {
					break
				}
				q.Page = onceward.Page{Size: size, Token: page.Next}
			}
			if len(seen) != n {
				w.Errorf("pages of %d list %d claims, want %d", size, len(seen), n)
			}
		}
	}},
	{"find decisions by key and by entity, newest first", func(w *world) {
		c := w.claim("k", fingerprint("f"))
		w.outcome(w.ask("k", fingerprint("g")), onceward.Conflict)
		w.complete("k", c.Token+1)
		w.forget("k")
		w.apply(plain, seq(7))
		w.apply(plain, seq(6), event("late"))
		w.claim("other", in(audited))

		got := w.decisions(&onceward.ListDecisionsRequest{Namespace: plain, Key: "k"})
		if want := []string{"ForgetClaim OK", "Complete LOST", "CheckAndClaim CONFLICT"}; !equalCalls(got, want) {
			w.Errorf("decisions are %+v, want %v", got, want)
		} else if got[0].Actor != "ana" || got[0].Reason != "ticket 12" || got[0].Subject != "k" {
			w.Errorf("entry is %+v", got[0])
		}
		got = w.decisions(&onceward.ListDecisionsRequest{Namespace: plain, Entity: "e"})
		if want := []string{"ApplyIfNewer STALE"}; !equalCalls(got, want) || got[0].Version != seq(6) || got[0].EventID != "late" {
			w.Errorf("decisions are %+v, want %v", got, want)
		}
		if got := w.decisions(&onceward.ListDecisionsRequest{Namespace: plain, Page: onceward.Page{Size: 1}}); len(got) != 4 {
			w.Errorf("the namespace has %d decisions: %+v", len(got), got)
		}
		if got := w.decisions(&onceward.ListDecisionsRequest{Namespace: audited}); !equalCalls(got, []string{"CheckAndClaim CLAIMED"}) {
			w.Errorf("decisions are %+v", got)
		}
	}},
	{"read no key where the namespace hides them", func(w *world) {
		secret := "cliente@example.test"
		w.claim(secret, in(hidden), fingerprint("f"))
		w.ask(secret, in(hidden), fingerprint("g"))
		got := w.decisions(&onceward.ListDecisionsRequest{Namespace: hidden, Key: secret})
		if len(got) != 1 || got[0].Subject == secret || got[0].Subject == "" {
			w.Errorf("decisions are %+v", got)
		}
		page, err := w.service.ListClaims(w.Context(), &onceward.ListClaimsRequest{Namespace: hidden, State: onceward.InProgress})
		if err != nil || len(page.Claims) != 1 || page.Claims[0].Key == secret {
			w.Errorf("%+v, %v", page, err)
		}
	}},
	{"cannot take the hash of a hidden entity for its name", func(w *world) {
		w.apply(hidden, seq(1), event("A"))
		w.apply(hidden, seq(1), event("B"))
		page, err := w.service.ListEntities(w.Context(), &onceward.ListEntitiesRequest{Namespace: hidden})
		if err != nil || len(page.Entities) != 1 {
			w.Fatalf("%+v, %v", page, err)
		}
		q := &onceward.ReconcileEntityRequest{
			EntityID: page.Entities[0].EntityID, Event: onceward.Event{Version: seq(2)}, Act: onceward.Act{Actor: "ana", Reason: "asked"},
		}
		_, _, err = w.service.ReconcileEntity(w.Context(), q)
		w.refused(err, onceward.ReasonFieldInvalid, "entity")
	}},
	{"are refused page tokens that nobody gave", func(w *world) {
		_, err := w.service.ListClaims(w.Context(), &onceward.ListClaimsRequest{Namespace: plain, State: onceward.Parked, Page: onceward.Page{Token: "?"}})
		w.refused(err, onceward.ReasonFieldInvalid, "page_token")
		_, err = w.service.ListEntities(w.Context(), &onceward.ListEntitiesRequest{Namespace: plain, Page: onceward.Page{Size: -1}})
		w.refused(err, onceward.ReasonFieldInvalid, "page_size")
	}},
}

func (w *world) list(s onceward.State) []onceward.Claim {
	w.Helper()
	page, err := w.service.ListClaims(w.Context(), &onceward.ListClaimsRequest{Namespace: plain, State: s})
	if err != nil || page.Next != "" {
		w.Fatalf("ListClaims: %+v, %v", page, err)
	}
	return page.Claims
}

// decisions reads all pages.
func (w *world) decisions(q *onceward.ListDecisionsRequest) (out []onceward.Decision) {
	w.Helper()
	size := q.Size
	for {
		page, err := w.service.ListDecisions(w.Context(), q)
		if err != nil {
			w.Fatalf("ListDecisions: %v", err)
		}
		if out = append(out, page.Decisions...); page.Next == "" {
			return out
		}
		q.Page = onceward.Page{Size: size, Token: page.Next}
	}
}

func equalCalls(got []onceward.Decision, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	for i, d := range got {
		if d.RPC+" "+d.Outcome != want[i] {
			return false
		}
	}
	return true
}

var shadowMode = []test{
	{"lets everybody act, and says what it would have answered", func(w *world) {
		c := w.claim("k", in(shadow), request("a"))
		if c.Shadow != onceward.Claimed {
			w.Errorf("the truth is %v", c.Shadow)
		}
		v := w.claim("k", in(shadow), request("b"))
		if v.Shadow != onceward.StillInProgress || v.Token == c.Token {
			w.Errorf("claim is %+v", v)
		}
		w.settled(w.complete("k", v.Token, completeIn(shadow)), onceward.OK, onceward.InProgress)
		w.settled(w.complete("k", c.Token, completeIn(shadow), result("", "r")), onceward.OK, onceward.Completed)
		if v := w.claim("k", in(shadow)); v.Shadow != onceward.Duplicate || v.Result.Body != nil {
			w.Errorf("claim is %+v", v)
		}
		w.apply(shadow, seq(2))
		if v := w.apply(shadow, seq(1)); v.Outcome != onceward.Applied || v.Shadow != onceward.Stale {
			w.Errorf("verdict is %+v", v)
		}
	}},
	{"leaves nothing where real calls look", func(w *world) {
		w.claim("k", in(shadow))
		if c := w.get(shadow, "k"); c.State != onceward.Absent {
			w.Errorf("claim is %+v", c)
		}
	}},
}
