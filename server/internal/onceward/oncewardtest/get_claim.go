package oncewardtest

import (
	"time"

	"github.com/onceward/onceward/server/internal/onceward"
)

var getClaim = []test{
	{"shows an absent claim as absent", func(w *world) {
		got := w.get(plain, "never-seen")
		want := onceward.Claim{ClaimID: id(plain, "never-seen")}
		if got.State != onceward.Absent || got.Attempt != 0 || got.Token != 0 || !got.RetainedUntil.IsZero() || got.ClaimID != want.ClaimID {
			w.Errorf("absent claim is %+v", got)
		}
	}},
	{"shows a claim in progress, and that its lease is over", func(w *world) {
		c := w.claim("k", owner("w1"), fingerprint("f"))
		got := w.get(plain, "k")
		if got.State != onceward.InProgress || got.Token != c.Token || got.Owner != "w1" || got.Fingerprint != "f" || got.Attempt != 1 {
			w.Errorf("claim is %+v", got)
		}
		w.near("lease end", got.LeaseExpiresAt, 20*time.Second)
		w.advance(30 * time.Second)
		if got := w.get(plain, "k"); got.State != onceward.Expired {
			w.Errorf("state is %v, want expired", got.State)
		}
	}},
	{"shows the result of a completed claim", func(w *world) {
		c := w.claim("k")
		w.complete("k", c.Token, result("t", "r"))
		got := w.get(plain, "k")
		if got.State != onceward.Completed || string(got.Result.Body) != "r" || got.Result.Type != "t" || !got.LeaseExpiresAt.IsZero() {
			w.Errorf("claim is %+v", got)
		}
		w.near("completion", got.CompletedAt, 0)
	}},
	{"changes nothing", func(w *world) {
		w.claim("k")
		w.advance(30 * time.Second)
		w.get(plain, "k")
		if v := w.claim("k"); v.Attempt != 2 {
			w.Errorf("claim is %+v", v)
		}
	}},
	{"refuses what names no claim", func(w *world) {
		_, err := w.service.GetClaim(w.Context(), &onceward.GetClaimRequest{ClaimID: id("", "k")})
		w.refused(err, onceward.ReasonFieldInvalid, "namespace")
	}},
}
