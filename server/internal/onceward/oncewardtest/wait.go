package oncewardtest

import (
	"context"
	"time"

	"github.com/onceward/onceward/server/internal/onceward"
)

// The tests of wait live in real time; their bounds are an order of magnitude
// above what they measure.
var wait = []test{
	{"answers when the holder finishes", func(w *world) {
		c := w.claim("k")
		answer := w.waitFor("k", 30*time.Second)
		time.Sleep(100 * time.Millisecond)
		w.complete("k", c.Token, result("", "r"))
		v := <-answer
		w.outcome(v, onceward.Duplicate)
		if string(v.Result.Body) != "r" {
			w.Errorf("duplicate is %+v", v)
		}
	}},
	{"claims when the holder gives back", func(w *world) {
		c := w.claim("k")
		answer := w.waitFor("k", 30*time.Second)
		time.Sleep(100 * time.Millisecond)
		w.release("k", c.Token)
		w.outcome(<-answer, onceward.Claimed)
	}},
	{"takes over when the lease runs out", func(w *world) {
		w.claim("k")
		answer := w.waitFor("k", 30*time.Second)
		time.Sleep(100 * time.Millisecond)
		w.advance(30 * time.Second)
		if v := <-answer; v.Takeover == nil {
			w.Errorf("verdict is %+v", v)
		}
	}},
	{"that is over answers in progress", func(w *world) {
		w.claim("k")
		began := time.Now()
		w.outcome(<-w.waitFor("k", 300*time.Millisecond), onceward.StillInProgress)
		if took := time.Since(began); took < 300*time.Millisecond {
			w.Errorf("answered after %s", took)
		}
	}},
	{"ends before the caller's deadline", func(w *world) {
		w.claim("k")
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		q := &onceward.CheckAndClaimRequest{ClaimID: id(plain, "k"), Wait: onceward.Of(30 * time.Second)}
		v, err := w.service.CheckAndClaim(ctx, q)
		if err != nil {
			w.refused(err, onceward.ReasonDeadline, "") // a machine slower than the margin
			return
		}
		w.outcome(v, onceward.StillInProgress)
	}},
	{"ends with the drain", func(w *world) {
		w.claim("k")
		answer := w.waitFor("k", 30*time.Second)
		time.Sleep(100 * time.Millisecond)
		w.service.Drain()
		w.outcome(<-answer, onceward.StillInProgress)
		w.outcome(<-w.waitFor("k", 30*time.Second), onceward.StillInProgress)
	}},
}

// waitFor asks for key and waits for the holder to finish.
func (w *world) waitFor(key string, d time.Duration) <-chan onceward.ClaimVerdict {
	answer := make(chan onceward.ClaimVerdict, 1)
	go func() {
		answer <- w.ask(key, func(q *onceward.CheckAndClaimRequest) { q.Wait = onceward.Of(d) })
	}()
	return answer
}
