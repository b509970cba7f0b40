package oncewardtest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward/server/internal/onceward"
)

var checkAndClaim = []test{
	{"an unknown key is claimed as attempt 1", func(w *world) {
		v := w.claim("k", owner("w1"))
		if v.Attempt != 1 || v.Reentrant || v.Takeover != nil || v.RetryAfter != 0 || !v.CompletedAt.IsZero() {
			w.Errorf("first claim is %+v", v)
		}
		w.near("lease end", v.LeaseExpiresAt, 20*time.Second)
		w.near("retention end", v.RetainedUntil, 20*time.Second+720*time.Hour)
		w.near("first claim", v.FirstClaimedAt, 0)
	}},
	{"a held key is in progress for everybody else", func(w *world) {
		w.claim("k")
		v := w.ask("k")
		w.outcome(v, onceward.StillInProgress)
		if v.RetryAfter <= 0 || v.RetryAfter > 20*time.Second || v.Attempt != 1 {
			w.Errorf("in progress is %+v", v)
		}
	}},
	{"the same request_id re-enters with the same token and a renewed lease", func(w *world) {
		first := w.claim("k", request("a"))
		w.advance(10 * time.Second)
		v := w.claim("k", request("a"), leased(60*time.Second))
		if !v.Reentrant || v.Token != first.Token || v.Attempt != 1 || v.Takeover != nil {
			w.Errorf("re-entry is %+v", v)
		}
		w.near("lease end", v.LeaseExpiresAt, 60*time.Second)
		w.advance(30 * time.Second)
		w.outcome(w.ask("k"), onceward.StillInProgress)
	}},
	{"the same request_id re-enters after its lease if nobody came", func(w *world) {
		first := w.claim("k", request("a"))
		w.advance(30 * time.Second)
		if v := w.claim("k", request("a")); !v.Reentrant || v.Token != first.Token || v.Attempt != 1 {
			w.Errorf("re-entry is %+v", v)
		}
	}},
	{"a stale attempt's repeat never gets its token back", func(w *world) {
		w.claim("k", request("a"))
		w.advance(30 * time.Second)
		w.claim("k", request("b"))
		w.outcome(w.ask("k", request("a")), onceward.StillInProgress)
	}},
	{"a lease that ran out is taken over, and the answer says so", func(w *world) {
		first := w.claim("k", owner("w1"))
		w.advance(30 * time.Second)
		v := w.claim("k", owner("w2"), request("b"))
		want := onceward.Takeover{PreviousAttempt: 1, PreviousOwner: "w1"}
		if v.Attempt != 2 || v.Token <= first.Token || v.Takeover == nil || *v.Takeover != want {
			w.Errorf("take-over is %+v (%+v)", v, v.Takeover)
		}
		if !v.FirstClaimedAt.Equal(first.FirstClaimedAt.Truncate(time.Millisecond)) && !v.FirstClaimedAt.Equal(first.FirstClaimedAt) {
			w.Errorf("first claimed at %s, was %s", v.FirstClaimedAt, first.FirstClaimedAt)
		}
		again := w.claim("k", request("b"))
		if again.Takeover == nil || *again.Takeover != want {
			w.Errorf("the repeat says %+v, want the same take-over", again.Takeover)
		}
	}},
	{"a completed key is a duplicate with its result", func(w *world) {
		c := w.claim("k", request("a"))
		w.complete("k", c.Token, result("text/plain", "paid"))
		for _, r := range []string{"a", "b"} {
			v := w.ask("k", request(r))
			w.outcome(v, onceward.Duplicate)
			if string(v.Result.Body) != "paid" || v.Result.Type != "text/plain" || v.ResultExpired || v.RetryAfter != 0 {
				w.Errorf("duplicate is %+v", v)
			}
			w.near("completion", v.CompletedAt, 0)
			w.near("retention end", v.RetainedUntil, 720*time.Hour)
		}
	}},
	{"a key that failed for good is failed with its result", func(w *world) {
		c := w.claim("k")
		w.complete("k", c.Token, failed, result("", "no funds"))
		v := w.ask("k")
		w.outcome(v, onceward.AlreadyFailed)
		if string(v.Result.Body) != "no funds" {
			w.Errorf("failed is %+v", v)
		}
	}},
	{"different fingerprints are a conflict in every state, without the result", func(w *world) {
		c := w.claim("k", fingerprint("f"), request("a"))
		conflict := func() {
			w.Helper()
			v := w.ask("k", fingerprint("g"), request("a"))
			w.outcome(v, onceward.Conflict)
			if v.Result.Body != nil || v.Result.Type != "" {
				w.Errorf("conflict shows the result: %+v", v)
			}
		}
		conflict()
		w.outcome(w.ask("k"), onceward.StillInProgress) // none on one side is no conflict
		w.complete("k", c.Token, result("t", "r"))
		conflict()
		w.outcome(w.ask("k"), onceward.Duplicate)
		w.outcome(w.ask("k", fingerprint("f")), onceward.Duplicate)
	}},
	{"the fingerprint survives take-over and release", func(w *world) {
		w.claim("k", fingerprint("f"))
		w.advance(30 * time.Second)
		c := w.claim("k")
		w.outcome(w.ask("k", fingerprint("g")), onceward.Conflict)
		w.release("k", c.Token)
		w.outcome(w.ask("k", fingerprint("g")), onceward.Conflict)
	}},
	{"attempts used up by take-overs end parked", func(w *world) {
		w.claim("k", in(twice))
		w.advance(30 * time.Second)
		w.claim("k", in(twice))
		w.outcome(w.ask("k", in(twice)), onceward.StillInProgress)
		w.advance(30 * time.Second)
		w.outcome(w.ask("k", in(twice)), onceward.IsParked)
		if c := w.get(twice, "k"); c.State != onceward.Parked || c.Attempt != 2 || c.Reason == "" {
			w.Errorf("parked claim is %+v", c)
		}
	}},
	{"attempts used up by releases end parked, with the last reason", func(w *world) {
		for range 2 {
			c := w.claim("k", in(twice))
			w.release("k", c.Token, releaseIn(twice), because("bank away"))
		}
		w.outcome(w.ask("k", in(twice)), onceward.IsParked)
		if c := w.get(twice, "k"); c.Reason != "bank away" {
			w.Errorf("reason is %q", c.Reason)
		}
	}},
	{"re-entry uses up no attempt", func(w *world) {
		for range 5 {
			w.claim("k", in(twice), request("a"))
		}
		w.advance(30 * time.Second)
		if v := w.claim("k", in(twice)); v.Attempt != 2 {
			w.Errorf("attempt is %d", v.Attempt)
		}
	}},
	{"a released key is claimed again at once", func(w *world) {
		c := w.claim("k", owner("w1"))
		w.release("k", c.Token)
		v := w.claim("k")
		if v.Attempt != 2 || v.Token <= c.Token || v.Takeover != nil || v.Reentrant {
			w.Errorf("claim after release is %+v", v)
		}
	}},
	{"a take-over stays told after a release", func(w *world) {
		w.claim("k", owner("w1"))
		w.advance(30 * time.Second)
		c := w.claim("k", owner("w2"))
		w.release("k", c.Token)
		v := w.claim("k", owner("w3"))
		if want := (onceward.Takeover{PreviousAttempt: 1, PreviousOwner: "w1"}); v.Takeover == nil || *v.Takeover != want {
			w.Errorf("attempt 3 is told %+v, want %+v: attempt 1 may have acted", v.Takeover, want)
		}
	}},
	{"a key held back is in progress until then", func(w *world) {
		c := w.claim("k")
		w.release("k", c.Token, holdBack(time.Minute))
		v := w.ask("k")
		w.outcome(v, onceward.StillInProgress)
		if v.RetryAfter <= 50*time.Second || v.RetryAfter > time.Minute || !v.LeaseExpiresAt.IsZero() {
			w.Errorf("held back is %+v", v)
		}
		w.advance(70 * time.Second)
		w.claim("k")
	}},
	{"a parked key is parked for everybody", func(w *world) {
		c := w.claim("k", request("a"))
		w.release("k", c.Token, park)
		w.outcome(w.ask("k"), onceward.IsParked)
		w.outcome(w.ask("k", request("a")), onceward.IsParked)
	}},
	{"a started effect is handed on, and said so, unless the policy forbids it", func(w *world) {
		for _, ns := range []string{plain, careful} {
			c := w.claim("k", in(ns))
			w.extend("k", c.Token, extendIn(ns), effectStarted)
			w.outcome(w.ask("k", in(ns)), onceward.StillInProgress)
		}
		w.advance(30 * time.Second)
		w.outcome(w.ask("k", in(careful)), onceward.NeedsReconcile)
		w.outcome(w.ask("k", in(careful)), onceward.NeedsReconcile)
		v := w.claim("k")
		if v.Takeover == nil || !v.Takeover.EffectStarted {
			w.Errorf("take-over is %+v", v.Takeover)
		}
		w.advance(30 * time.Second)
		if v := w.claim("k"); v.Takeover == nil || !v.Takeover.EffectStarted || v.Takeover.PreviousAttempt != 2 {
			w.Errorf("a started effect must stick through take-overs: %+v", v.Takeover)
		}
	}},
	{"the holder's own repeat needs no reconciling", func(w *world) {
		c := w.claim("k", in(careful), request("a"))
		w.extend("k", c.Token, extendIn(careful), effectStarted)
		w.advance(30 * time.Second)
		w.claim("k", in(careful), request("a"))
	}},
	{"a final claim is one shot", func(w *world) {
		c := w.claim("k", final, request("a"))
		if !c.LeaseExpiresAt.IsZero() || c.RetainedUntil.IsZero() || c.Attempt != 1 {
			w.Errorf("final claim is %+v", c)
		}
		w.outcome(w.ask("k", final, request("b")), onceward.Duplicate)
		w.outcome(w.ask("k", request("b")), onceward.Duplicate)
		if v := w.claim("k", final, request("a")); !v.Reentrant || v.Token != c.Token {
			w.Errorf("final re-entry is %+v", v)
		}
		w.settled(w.complete("k", c.Token, result("", "r")), onceward.AlreadySettled, onceward.Completed)
		w.settled(w.release("k", c.Token), onceward.AlreadySettled, onceward.Completed)
	}},
	{"a final claim takes over, and its repeat still says so", func(w *world) {
		w.claim("k", owner("w1"))
		w.advance(30 * time.Second)
		for range 2 {
			if v := w.claim("k", final, request("b")); v.Attempt != 2 || v.Takeover == nil || v.Takeover.PreviousAttempt != 1 {
				w.Errorf("final take-over is %+v", v)
			}
		}
	}},
	{"a completed claim is not given to a final request of the same request_id", func(w *world) {
		c := w.claim("k", request("a"))
		w.complete("k", c.Token)
		w.outcome(w.ask("k", final, request("a")), onceward.Duplicate)
	}},
	{"a namespace may forbid final claims", func(w *world) {
		_, err := w.service.CheckAndClaim(w.Context(), &onceward.CheckAndClaimRequest{ClaimID: id(nofinal, "k"), Final: true})
		w.refused(err, onceward.ReasonFinalNotAllowed, "")
		w.claim("k", in(nofinal))
	}},
	{"an order is refused where claims live by their key", func(w *world) {
		q := &onceward.CheckAndClaimRequest{ClaimID: id(plain, "k"), Ordered: true}
		_, err := w.service.CheckAndClaim(w.Context(), q)
		w.refused(err, onceward.ReasonRouting, "")
	}},
	{"a call without request_id re-enters nothing", func(w *world) {
		w.claim("k", request(""))
		w.outcome(w.ask("k", request("")), onceward.StillInProgress)
	}},
	{"tokens grow after release, expiry and retention", func(w *world) {
		last := int64(0)
		for i := range 8 {
			v := w.claim("k", retained(10*time.Second))
			if v.Token <= last || v.Token > onceward.MaxToken {
				w.Fatalf("token %d after %d", v.Token, last)
			}
			last = v.Token
			switch i % 3 {
			case 0:
				w.release("k", v.Token)
			case 1:
				w.advance(25 * time.Second) // the lease only
			case 2:
				w.advance(time.Minute) // the record too
			}
		}
	}},
	{"a record past its retention is gone", func(w *world) {
		c := w.claim("k", retained(10*time.Second))
		w.complete("k", c.Token)
		w.advance(5 * time.Second)
		w.outcome(w.ask("k"), onceward.Duplicate)
		w.advance(15 * time.Second)
		if v := w.claim("k"); v.Attempt != 1 {
			w.Errorf("claim is %+v", v)
		}
	}},
	{"identities that look alike are different", func(w *world) {
		ids := []onceward.ClaimID{
			{Namespace: "a", Consumer: "b", Key: "c"}, {Namespace: "a", Key: "b:c"}, {Namespace: "a", Consumer: "b/c", Key: "d"},
			{Namespace: "a", Consumer: "b", Key: "c/d"}, {Namespace: "a/b", Key: "c"}, {Namespace: "a", Key: "k"},
			{Namespace: "a", Key: " k"}, {Namespace: "a", Key: "k "}, {Namespace: "a", Key: "K"}, {Namespace: "a", Key: "k\x00"},
			{Namespace: "a", Key: "{k}"}, {Namespace: "a", Key: "jos\u00e9"}, {Namespace: "a", Key: "jose\u0301"},
		}
		for _, i := range ids {
			if v := w.claim("", func(q *onceward.CheckAndClaimRequest) { q.ClaimID = i }); v.Attempt != 1 || v.Reentrant {
				w.Errorf("%+v meets another: %+v", i, v)
			}
		}
	}},
	{"of many simultaneous claims one is granted", func(w *world) {
		for round := range 20 {
			var granted atomic.Int32
			together(30, func(int) {
				if v := w.ask(fmt.Sprint("k", round)); v.Outcome == onceward.Claimed {
					granted.Add(1)
				}
			})
			if n := granted.Load(); n != 1 {
				w.Fatalf("round %d: %d claims were granted", round, n)
			}
		}
	}},
	{"simultaneous repeats of one request share one claim", func(w *world) {
		var tokens sync.Map
		together(30, func(int) { tokens.Store(w.claim("k", request("a")).Token, true) })
		n := 0
		tokens.Range(func(any, any) bool { n++; return true })
		if n != 1 {
			w.Errorf("%d tokens for one request", n)
		}
	}},
	{"what is out of bounds is refused by field, and nothing is written", func(w *world) {
		for field, change := range map[string]func(*onceward.CheckAndClaimRequest){
			"namespace":   in("a:b"),
			"consumer":    func(q *onceward.CheckAndClaimRequest) { q.Consumer = "a b" },
			"key":         func(q *onceward.CheckAndClaimRequest) { q.Key = "\t\u2003" },
			"lease":       leased(49 * time.Millisecond),
			"retention":   retained(time.Second - 1),
			"request_id":  request(string(make([]byte, 129))),
			"owner":       owner(string(make([]byte, 129))),
			"fingerprint": fingerprint(string(make([]byte, 65))),
			"wait":        func(q *onceward.CheckAndClaimRequest) { q.Wait = onceward.Of(30*time.Second + 1) },
		} {
			q := &onceward.CheckAndClaimRequest{ClaimID: id(plain, "k")}
			change(q)
			_, err := w.service.CheckAndClaim(w.Context(), q)
			w.refused(err, onceward.ReasonFieldInvalid, field)
		}
		q := &onceward.CheckAndClaimRequest{ClaimID: id(lowered, "k"), Retention: onceward.Of(1001 * time.Hour)}
		_, err := w.service.CheckAndClaim(w.Context(), q)
		w.refused(err, onceward.ReasonFieldInvalid, "retention")
		if c := w.get(plain, "k"); c.State != onceward.Absent {
			w.Errorf("a refused call left %+v", c)
		}
	}},
}

// together runs f n times at once.
func together(n int, f func(i int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			f(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}
