package oncewardtest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward/server/internal/onceward"
)

var complete = []test{
	{"ends the claim and says until when it is remembered", func(w *world) {
		c := w.claim("k", retained(time.Hour))
		w.advance(10 * time.Second)
		s := w.complete("k", c.Token)
		w.settled(s, onceward.OK, onceward.Completed)
		if s.Late || s.Recreated {
			w.Errorf("completion is %+v", s)
		}
		w.near("retention end", s.RetainedUntil, time.Hour)
	}},
	{"keeps attempt, fingerprint, owner and the first claim's time", func(w *world) {
		first := w.claim("k", fingerprint("f"))
		w.advance(30 * time.Second)
		c := w.claim("k", owner("w2"))
		w.complete("k", c.Token)
		got := w.get(plain, "k")
		if got.Attempt != 2 || got.Fingerprint != "f" || got.Owner != "w2" || got.FirstClaimedAt.UnixMilli() != first.FirstClaimedAt.UnixMilli() {
			w.Errorf("completed claim is %+v", got)
		}
	}},
	{"may set its own retention", func(w *world) {
		c := w.claim("k")
		s := w.complete("k", c.Token, func(q *onceward.CompleteRequest) { q.Retention = onceward.Of(10 * time.Second) })
		w.near("retention end", s.RetainedUntil, 10*time.Second)
		w.advance(20 * time.Second)
		w.claim("k")
	}},
	{"is accepted late if nobody took over", func(w *world) {
		c := w.claim("k")
		w.advance(30 * time.Second)
		s := w.complete("k", c.Token, result("", "r"))
		w.settled(s, onceward.OK, onceward.Completed)
		if !s.Late || s.Recreated {
			w.Errorf("late completion is %+v", s)
		}
	}},
	{"is accepted late after the attempts were used up", func(w *world) {
		w.claim("k", in(twice))
		w.advance(30 * time.Second)
		c := w.claim("k", in(twice))
		w.advance(30 * time.Second)
		w.outcome(w.ask("k", in(twice)), onceward.IsParked)
		if s := w.complete("k", c.Token, completeIn(twice)); s.Outcome != onceward.OK || !s.Late {
			w.Errorf("completion is %+v", s)
		}
		w.outcome(w.ask("k", in(twice)), onceward.Duplicate)
	}},
	{"writes a vanished record again", func(w *world) {
		c := w.claim("k", retained(10*time.Second))
		w.advance(time.Minute)
		s := w.complete("k", c.Token, result("t", "r"))
		w.settled(s, onceward.OK, onceward.Completed)
		if !s.Recreated || s.Late {
			w.Errorf("completion is %+v", s)
		}
		w.near("retention end", s.RetainedUntil, 720*time.Hour)
		v := w.ask("k")
		w.outcome(v, onceward.Duplicate)
		if string(v.Result.Body) != "r" {
			w.Errorf("duplicate is %+v", v)
		}
		w.settled(w.complete("k", c.Token), onceward.AlreadySettled, onceward.Completed)
	}},
	{"by a token that was never given out writes nothing, even where nothing is", func(w *world) {
		w.settled(w.complete("k", onceward.MaxToken), onceward.Lost, onceward.Absent)
		if v := w.claim("k"); v.Attempt != 1 || v.Token >= onceward.MaxToken {
			w.Errorf("claim is %+v", v)
		}
	}},
	{"repeated is already settled and changes nothing", func(w *world) {
		c := w.claim("k")
		w.complete("k", c.Token, result("", "one"))
		w.settled(w.complete("k", c.Token, failed, result("", "two")), onceward.AlreadySettled, onceward.Completed)
		if v := w.ask("k"); string(v.Result.Body) != "one" {
			w.Errorf("duplicate is %+v", v)
		}
	}},
	{"by a stale or foreign token is lost and changes nothing", func(w *world) {
		stale := w.claim("k")
		foreign := w.claim("other")
		w.advance(30 * time.Second)
		c := w.claim("k")
		for _, token := range []int64{stale.Token, foreign.Token, c.Token + 1, 1} {
			w.settled(w.complete("k", token, result("", "no")), onceward.Lost, onceward.InProgress)
		}
		w.complete("k", c.Token, result("", "yes"))
		w.settled(w.complete("k", stale.Token), onceward.Lost, onceward.Completed)
		if v := w.ask("k"); string(v.Result.Body) != "yes" {
			w.Errorf("duplicate is %+v", v)
		}
	}},
	{"after one's own release or park is already settled", func(w *world) {
		c := w.claim("k")
		w.release("k", c.Token)
		w.settled(w.complete("k", c.Token), onceward.AlreadySettled, onceward.Released)
		c = w.claim("k")
		w.release("k", c.Token, park)
		w.settled(w.complete("k", c.Token), onceward.AlreadySettled, onceward.Parked)
	}},
	{"replays results byte for byte, the empty one too", func(w *world) {
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		for i, body := range []string{"", "\x00", "\xff\xfe\x80\xc0", string(all), strings.Repeat("x", 64<<10)} {
			key := fmt.Sprint("k", i)
			c := w.claim(key)
			w.complete(key, c.Token, result("t", body))
			if v := w.ask(key); string(v.Result.Body) != body || v.Result.Type != "t" || v.ResultExpired {
				w.Errorf("result of %d bytes came back as %d", len(body), len(v.Result.Body))
			}
		}
		c := w.claim("none")
		w.complete("none", c.Token)
		if v := w.ask("none"); v.Result.Body != nil || v.Result.Type != "" || v.ResultExpired {
			w.Errorf("no result came back as %+v", v.Result)
		}
	}},
	{"keeps the result as long as asked, and the mark longer", func(w *world) {
		c := w.claim("k")
		w.complete("k", c.Token, result("t", "r"), func(q *onceward.CompleteRequest) { q.ResultRetention = onceward.Of(10 * time.Second) })
		w.advance(20 * time.Second)
		v := w.ask("k")
		w.outcome(v, onceward.Duplicate)
		if v.Result.Body != nil || v.Result.Type != "" || !v.ResultExpired {
			w.Errorf("duplicate is %+v", v)
		}
	}},
	{"lets the default result retention yield to a shorter retention", func(w *world) {
		c := w.claim("k", retained(time.Minute))
		w.settled(w.complete("k", c.Token, result("t", "r")), onceward.OK, onceward.Completed)
		if v := w.ask("k"); string(v.Result.Body) != "r" {
			w.Errorf("duplicate is %+v", v)
		}
	}},
	{"refuses a result that outlives its mark, and the claim stays held", func(w *world) {
		c := w.claim("k", retained(time.Minute))
		_, err := w.service.Complete(w.Context(), &onceward.CompleteRequest{
			ClaimID: id(plain, "k"), Token: c.Token, ResultRetention: onceward.Of(2 * time.Minute),
		})
		w.refused(err, onceward.ReasonFieldInvalid, "result_retention")
		w.outcome(w.ask("k"), onceward.StillInProgress)
	}},
	{"refuses what is out of bounds, and the claim stays held", func(w *world) {
		c := w.claim("k", in(smallest))
		for field, change := range map[string]func(*onceward.CompleteRequest){
			"result":           result("", "12345"),
			"result_type":      result(strings.Repeat("x", 129), ""),
			"fencing_token":    func(q *onceward.CompleteRequest) { q.Token = 0 },
			"retention":        func(q *onceward.CompleteRequest) { q.Retention = onceward.Of(0) },
			"result_retention": func(q *onceward.CompleteRequest) { q.ResultRetention = onceward.Of(-time.Second) },
		} {
			q := &onceward.CompleteRequest{ClaimID: id(smallest, "k"), Token: c.Token}
			change(q)
			_, err := w.service.Complete(w.Context(), q)
			w.refused(err, onceward.ReasonFieldInvalid, field)
		}
		w.outcome(w.ask("k", in(smallest)), onceward.StillInProgress)
	}},
	{"and a take-over never both win", func(w *world) {
		for round := range 20 {
			key := fmt.Sprint("k", round)
			c := w.claim(key)
			w.advance(30 * time.Second)
			var accepted, granted atomic.Int32
			together(10, func(i int) {
				if i == 0 {
					if s := w.complete(key, c.Token); s.Outcome == onceward.OK {
						accepted.Add(1)
					}
				} else if w.ask(key).Outcome == onceward.Claimed {
					granted.Add(1)
				}
			})
			if accepted.Load()+granted.Load() != 1 {
				w.Fatalf("round %d: %d completions accepted, %d take-overs granted", round, accepted.Load(), granted.Load())
			}
		}
	}},
}

var release = []test{
	{"gives the claim back with a reason", func(w *world) {
		c := w.claim("k")
		w.settled(w.release("k", c.Token, because("bank away")), onceward.OK, onceward.Released)
		if got := w.get(plain, "k"); got.State != onceward.Released || got.Reason != "bank away" {
			w.Errorf("released claim is %+v", got)
		}
		w.settled(w.release("k", c.Token), onceward.AlreadySettled, onceward.Released)
	}},
	{"parks", func(w *world) {
		c := w.claim("k")
		w.settled(w.release("k", c.Token, park, because("unreadable")), onceward.OK, onceward.Parked)
		if got := w.get(plain, "k"); got.State != onceward.Parked || got.Reason != "unreadable" {
			w.Errorf("parked claim is %+v", got)
		}
	}},
	{"after the lease is accepted if nobody took over", func(w *world) {
		c := w.claim("k")
		w.advance(30 * time.Second)
		w.settled(w.release("k", c.Token), onceward.OK, onceward.Released)
	}},
	{"of a started effect is refused unless parked", func(w *world) {
		c := w.claim("k")
		w.extend("k", c.Token, effectStarted)
		_, err := w.service.Release(w.Context(), &onceward.ReleaseRequest{ClaimID: id(plain, "k"), Token: c.Token})
		w.refused(err, onceward.ReasonEffectStarted, "")
		w.outcome(w.ask("k"), onceward.StillInProgress)
		w.settled(w.release("k", c.Token, park), onceward.OK, onceward.Parked)
		if got := w.get(plain, "k"); !got.EffectStarted {
			w.Error("a parked claim forgot that its effect had started")
		}
	}},
	{"after completion reopens nothing", func(w *world) {
		c := w.claim("k")
		w.complete("k", c.Token)
		w.settled(w.release("k", c.Token), onceward.AlreadySettled, onceward.Completed)
		w.outcome(w.ask("k"), onceward.Duplicate)
	}},
	{"by a stale token, or of nothing, is lost", func(w *world) {
		c := w.claim("k")
		w.advance(30 * time.Second)
		w.claim("k")
		w.settled(w.release("k", c.Token), onceward.Lost, onceward.InProgress)
		w.settled(w.release("absent", c.Token), onceward.Lost, onceward.Absent)
	}},
	{"of a claim parked for its attempts is lost", func(w *world) {
		w.claim("k", in(twice))
		w.advance(30 * time.Second)
		c := w.claim("k", in(twice))
		w.advance(30 * time.Second)
		w.ask("k", in(twice))
		w.settled(w.release("k", c.Token, releaseIn(twice)), onceward.Lost, onceward.Parked)
	}},
	{"refuses what is out of bounds", func(w *world) {
		c := w.claim("k")
		for field, change := range map[string]func(*onceward.ReleaseRequest){
			"reason":        because(strings.Repeat("x", 1025)),
			"retry_after":   holdBack(24*time.Hour + 1),
			"fencing_token": func(q *onceward.ReleaseRequest) { q.Token = onceward.MaxToken + 1 },
		} {
			q := &onceward.ReleaseRequest{ClaimID: id(plain, "k"), Token: c.Token}
			change(q)
			_, err := w.service.Release(w.Context(), q)
			w.refused(err, onceward.ReasonFieldInvalid, field)
		}
		w.outcome(w.ask("k"), onceward.StillInProgress)
	}},
}

var extendLease = []test{
	{"moves the end of the lease", func(w *world) {
		c := w.claim("k")
		s := w.extend("k", c.Token, func(q *onceward.ExtendLeaseRequest) { q.Lease = onceward.Of(time.Minute) })
		w.settled(s, onceward.OK, onceward.InProgress)
		w.near("lease end", s.LeaseExpiresAt, time.Minute)
		w.advance(40 * time.Second)
		w.outcome(w.ask("k"), onceward.StillInProgress)
	}},
	{"keeps the retention that was asked for", func(w *world) {
		c := w.claim("k", retained(time.Hour))
		w.extend("k", c.Token)
		w.near("retention end", w.get(plain, "k").RetainedUntil, time.Hour+20*time.Second)
	}},
	{"keeps a started effect through later extensions and re-entry", func(w *world) {
		c := w.claim("k", request("a"))
		w.extend("k", c.Token, effectStarted)
		w.extend("k", c.Token)
		w.claim("k", request("a"))
		if !w.get(plain, "k").EffectStarted {
			w.Error("the effect's start is forgotten")
		}
	}},
	{"extends after the lease if nobody came", func(w *world) {
		c := w.claim("k")
		w.advance(30 * time.Second)
		w.settled(w.extend("k", c.Token), onceward.OK, onceward.InProgress)
		w.outcome(w.ask("k"), onceward.StillInProgress)
	}},
	{"wins nothing back", func(w *world) {
		c := w.claim("k")
		w.advance(30 * time.Second)
		taken := w.claim("k")
		w.settled(w.extend("k", c.Token), onceward.Lost, onceward.InProgress)
		w.release("k", taken.Token)
		w.settled(w.extend("k", c.Token), onceward.Lost, onceward.Released)
		w.settled(w.extend("k", taken.Token), onceward.AlreadySettled, onceward.Released)
	}},
	{"creates nothing", func(w *world) {
		w.settled(w.extend("absent", 7), onceward.Lost, onceward.Absent)
		if got := w.get(plain, "absent"); got.State != onceward.Absent {
			w.Errorf("extension left %+v", got)
		}
	}},
	{"after completion is already settled", func(w *world) {
		c := w.claim("k")
		w.complete("k", c.Token)
		w.settled(w.extend("k", c.Token), onceward.AlreadySettled, onceward.Completed)
	}},
	{"of a claim parked for its attempts is lost", func(w *world) {
		w.claim("k", in(twice))
		w.advance(30 * time.Second)
		c := w.claim("k", in(twice))
		w.advance(30 * time.Second)
		w.ask("k", in(twice))
		w.settled(w.extend("k", c.Token, extendIn(twice)), onceward.Lost, onceward.Parked)
	}},
}
