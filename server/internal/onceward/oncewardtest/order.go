package oncewardtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/onceward/onceward/server/internal/onceward"
)

func seq(n uint64) onceward.Version { return onceward.Version{Kind: onceward.Sequence, Sequence: n} }

func at(t time.Time) onceward.Version {
	return onceward.Version{Kind: onceward.Timestamp, Time: t.UTC()}
}

func dec(digits string) onceward.Version {
	return onceward.Version{Kind: onceward.Decimal, Decimal: digits}
}

func entity(namespace, name string) onceward.EntityID {
	return onceward.EntityID{Namespace: namespace, Entity: name}
}

// apply asks ApplyIfNewer for entity e of a namespace.
func (w *world) apply(namespace string, v onceward.Version, change ...func(*onceward.ApplyIfNewerRequest)) onceward.ApplyVerdict {
	w.Helper()
	q := &onceward.ApplyIfNewerRequest{EntityID: entity(namespace, "e"), Event: onceward.Event{Version: v}}
	for _, c := range change {
		c(q)
	}
	got, err := w.service.ApplyIfNewer(w.Context(), q)
	if err != nil {
		w.Fatalf("ApplyIfNewer: %v", err)
	}
	return got
}

// applied wants a verdict, and the version that the entity stands at then.
func (w *world) applied(v onceward.ApplyVerdict, want onceward.ApplyOutcome, current onceward.Version) {
	w.Helper()
	if v.Outcome != want || v.Current.Version != current {
		w.Fatalf("%v at %+v, want %v at %+v", v.Outcome, v.Current.Version, want, current)
	}
}

func (w *world) entity(namespace, name string) onceward.Entity {
	w.Helper()
	e, err := w.service.GetEntity(w.Context(), &onceward.GetEntityRequest{EntityID: entity(namespace, name)})
	if err != nil {
		w.Fatalf("GetEntity: %v", err)
	}
	return e
}

func event(id string) func(*onceward.ApplyIfNewerRequest) {
	return func(q *onceward.ApplyIfNewerRequest) { q.Event.ID = id }
}

func state(s string) func(*onceward.ApplyIfNewerRequest) {
	return func(q *onceward.ApplyIfNewerRequest) { q.Event.State = s }
}

func applyRequest(id string) func(*onceward.ApplyIfNewerRequest) {
	return func(q *onceward.ApplyIfNewerRequest) { q.RequestID = id }
}

func (w *world) missing(e onceward.Entity, want ...onceward.Range) {
	w.Helper()
	if !slices.Equal(e.Missing, want) || (e.Open&onceward.FlagGap != 0) != (len(want) > 0) {
		w.Errorf("missing %v (open %v), want %v", e.Missing, e.Open, want)
	}
}

var applyIfNewer = []test{
	{"an unknown entity is applied, first seen", func(w *world) {
		v := w.apply(plain, seq(7), event("ev7"))
		w.applied(v, onceward.Applied, seq(7))
		if !v.FirstSeen || v.Reentrant || !v.Previous.IsZero() || v.Current.EventID != "ev7" || v.Current.Open != 0 {
			w.Errorf("verdict is %+v", v)
		}
		w.near("application", v.Current.AppliedAt, 0)
	}},
	{"newer is applied and says what it replaced", func(w *world) {
		w.apply(plain, seq(7))
		v := w.apply(plain, seq(12))
		w.applied(v, onceward.Applied, seq(12))
		if v.Previous != seq(7) || v.FirstSeen {
			w.Errorf("verdict is %+v", v)
		}
	}},
	{"extreme versions are exact", func(w *world) {
		for name, versions := range map[string][]onceward.Version{
			"sequence":  {seq(0), seq(1<<53 - 1), seq(1 << 53), seq(1<<53 + 1), seq(1 << 63), seq(math.MaxUint64 - 1), seq(math.MaxUint64)},
			"timestamp": {at(time.Unix(1755777600, 0)), at(time.Unix(1755777600, 1)), at(time.Unix(1755777600, 2))},
			"decimal":   {dec("0"), dec("9"), dec("10"), dec("9007199254740993"), dec("99999999999999999999999999999999999999999999999999999999999999998"[:64])},
		} {
			named := func(q *onceward.ApplyIfNewerRequest) { q.Entity = name }
			for i, v := range versions {
				got := w.apply(plain, v, named)
				w.applied(got, onceward.Applied, v)
				if i > 0 {
					if got.Previous != versions[i-1] {
						w.Errorf("%+v replaced %+v", v, got.Previous)
					}
					w.applied(w.apply(plain, versions[i-1], named), onceward.Stale, v)
				}
			}
		}
	}},
	{"leading zeros do not count and come back", func(w *world) {
		w.applied(w.apply(plain, dec("007")), onceward.Applied, dec("007"))
		w.applied(w.apply(plain, dec("7")), onceward.SameAgain, dec("007"))
		w.applied(w.apply(plain, dec("0008")), onceward.Applied, dec("0008"))
	}},
	{"equal is a duplicate unless another event says so", func(w *world) {
		w.apply(plain, seq(7), event("A"))
		w.applied(w.apply(plain, seq(7), event("A")), onceward.SameAgain, seq(7))
		w.applied(w.apply(plain, seq(7)), onceward.SameAgain, seq(7))
		v := w.apply(plain, seq(7), event("B"))
		w.applied(v, onceward.Tie, seq(7))
		if v.Current.EventID != "A" || v.Current.Reason != onceward.FlagTie || v.Current.FlaggedAt.IsZero() {
			w.Errorf("verdict is %+v", v)
		}
	}},
	{"older is stale, and a duplicate if it is the same event", func(w *world) {
		w.apply(plain, at(time.Unix(1755777600, 5)), event("A"))
		w.applied(w.apply(plain, at(time.Unix(1755777600, 0)), event("A")), onceward.SameAgain, at(time.Unix(1755777600, 5)))
		w.applied(w.apply(plain, at(time.Unix(1755777600, 0)), event("B")), onceward.Stale, at(time.Unix(1755777600, 5)))
	}},
	{"the same request is applied again while it is the last word", func(w *world) {
		w.apply(plain, seq(7), applyRequest("x"))
		v := w.apply(plain, seq(7), applyRequest("x"))
		w.applied(v, onceward.Applied, seq(7))
		if !v.Reentrant || !v.FirstSeen {
			w.Errorf("verdict is %+v", v)
		}
		w.applied(w.apply(plain, seq(7), applyRequest("y")), onceward.SameAgain, seq(7))
		w.apply(plain, seq(8), applyRequest("y"))
		w.applied(w.apply(plain, seq(7), applyRequest("x")), onceward.Stale, seq(8))
	}},
	{"a higher epoch wins whatever the value, and leaves no hole", func(w *world) {
		e := func(epoch, n uint64) onceward.Version { v := seq(n); v.Epoch = epoch; return v }
		w.apply(holes, e(1, 5))
		w.missing(w.apply(holes, e(1, 9)).Current, onceward.Range{First: 6, Last: 8})
		v := w.apply(holes, e(2, 3))
		w.applied(v, onceward.Applied, e(2, 3))
		w.missing(v.Current)
		w.applied(w.apply(holes, e(1, 10)), onceward.Stale, e(2, 3))
	}},
	{"rank decides between equal values, and may be negative", func(w *world) {
		r := func(rank int32) onceward.Version { v := seq(5); v.Rank = rank; return v }
		for _, rank := range []int32{math.MinInt32, -2, -1, 0, 9, 10, math.MaxInt32} {
			w.applied(w.apply(hold, r(rank)), onceward.Applied, r(rank))
		}
		w.applied(w.apply(hold, r(-10)), onceward.Stale, r(math.MaxInt32))
	}},
	{"kinds do not mix", func(w *world) {
		w.apply(plain, seq(7))
		for _, v := range []onceward.Version{at(time.Now()), dec("99")} {
			_, err := w.service.ApplyIfNewer(w.Context(), &onceward.ApplyIfNewerRequest{EntityID: entity(plain, "e"), Event: onceward.Event{Version: v}})
			w.refused(err, onceward.ReasonVersionKindMismatch, "")
		}
		if e := w.entity(plain, "e"); e.Version != seq(7) || e.Open != 0 {
			w.Errorf("entity is %+v", e)
		}
	}},
	{"a timestamp in the future leaves nothing", func(w *world) {
		v := w.apply(plain, at(w.now().Add(10*time.Minute)))
		w.applied(v, onceward.Future, onceward.Version{})
		if w.entity(plain, "e").Known() {
			w.Error("the entity is known")
		}
		w.applied(w.apply(plain, at(w.now().Add(time.Minute))), onceward.Applied, w.entity(plain, "e").Version)
	}},
	{"hold keeps later events out until the hole fills", func(w *world) {
		w.apply(hold, seq(1))
		v := w.apply(hold, seq(5))
		w.applied(v, onceward.GapBefore, seq(1))
		w.missing(v.Current, onceward.Range{First: 2, Last: 4})
		w.applied(w.apply(hold, seq(4)), onceward.GapBefore, seq(1))
		w.missing(w.apply(hold, seq(2)).Current, onceward.Range{First: 3, Last: 4})
		w.apply(hold, seq(3))
		v = w.apply(hold, seq(4))
		w.applied(v, onceward.Applied, seq(4))
		w.missing(v.Current)
		w.applied(w.apply(hold, seq(5)), onceward.Applied, seq(5))
	}},
	{"a first sequence makes a later beginning a hole", func(w *world) {
		v := w.apply(fromOne, seq(3))
		w.applied(v, onceward.GapBefore, onceward.Version{Kind: onceward.Sequence})
		if v.Current.Applied || !w.entity(fromOne, "e").Known() {
			w.Errorf("held entity is %+v", v.Current)
		}
		w.missing(v.Current, onceward.Range{First: 1, Last: 2})
		if v := w.apply(fromOne, seq(1)); v.Outcome != onceward.Applied || !v.FirstSeen {
			w.Errorf("verdict is %+v", v)
		}
		w.apply(fromOne, seq(2))
		w.missing(w.apply(fromOne, seq(3)).Current)
	}},
	{"an event without a version makes no watermark of what is held back", func(w *world) {
		held := w.apply(heldStates, seq(7))
		w.missing(held.Current, onceward.Range{First: 5, Last: 6})
		v := w.apply(heldStates, onceward.Version{}, state("pending"))
		if v.Outcome != onceward.Applied || !v.Current.Watermark().IsZero() {
			w.Errorf("verdict is %+v", v)
		}
		w.missing(v.Current, onceward.Range{First: 5, Last: 6})
		if v := w.apply(heldStates, seq(5)); v.Outcome != onceward.Applied || !v.FirstSeen {
			w.Errorf("verdict is %+v", v)
		}
	}},
	{"of two epochs that are held back the lower comes first", func(w *world) {
		e := func(epoch, n uint64) onceward.Version { v := seq(n); v.Epoch = epoch; return v }
		w.apply(fromOne, e(1, 7))
		v := w.apply(fromOne, e(0, 3))
		if v.Outcome != onceward.GapBefore {
			w.Errorf("verdict is %+v", v)
		}
		w.missing(v.Current, onceward.Range{First: 1, Last: 2})
		w.missing(w.apply(fromOne, e(1, 9)).Current, onceward.Range{First: 1, Last: 2})
		w.applied(w.apply(fromOne, e(0, 1)), onceward.Applied, e(0, 1))
	}},
	{"apply remembers holes, and late ones close them", func(w *world) {
		w.apply(holes, seq(1))
		w.missing(w.apply(holes, seq(10)).Current, onceward.Range{First: 2, Last: 9})
		v := w.apply(holes, seq(5))
		w.applied(v, onceward.Stale, seq(10))
		if !v.FillsGap || v.Current.MissingCount() != 7 {
			w.Errorf("verdict is %+v", v)
		}
		w.missing(v.Current, onceward.Range{First: 2, Last: 4}, onceward.Range{First: 6, Last: 9})
		if v := w.apply(holes, seq(5)); v.FillsGap {
			w.Error("a hole is filled twice")
		}
	}},
	{"more than 32 holes are truncated, and stay flagged", func(w *world) {
		w.apply(holes, seq(1))
		for n := uint64(3); n <= 67; n += 2 {
			w.apply(holes, seq(n))
		}
		if e := w.entity(holes, "e"); len(e.Missing) != 32 || !e.Truncated {
			w.Fatalf("%d ranges, truncated %v", len(e.Missing), e.Truncated)
		}
		for n := uint64(2); n <= 66; n += 2 {
			w.apply(holes, seq(n))
		}
		if e := w.entity(holes, "e"); len(e.Missing) != 0 || !e.Truncated || e.Open == 0 {
			w.Errorf("a truncated list became whole: %+v", e)
		}
	}},
	{"transitions decide what may follow", func(w *world) {
		w.applied(w.apply(states, seq(1), state("pending")), onceward.Applied, seq(1))
		v := w.apply(states, seq(2), state("refunded"))
		w.applied(v, onceward.TransitionDenied, seq(1))
		if v.Current.State != "pending" || v.Current.Reason != onceward.FlagTransition {
			w.Errorf("verdict is %+v", v)
		}
		w.applied(w.apply(states, seq(2), state("unheard of")), onceward.TransitionDenied, seq(1))
		w.applied(w.apply(states, seq(2), state("pending")), onceward.Applied, seq(2))
		w.applied(w.apply(states, seq(3), state("expired")), onceward.Applied, seq(3))
		w.applied(w.apply(states, seq(4), state("paid")), onceward.Applied, seq(4))
		w.applied(w.apply(states, seq(1), state("pending")), onceward.Stale, seq(4))
		if v := w.apply(states, seq(5)); v.Current.State != "paid" {
			w.Errorf("an event without a state changed it: %+v", v.Current)
		}
	}},
	{"without a version the transitions decide alone", func(w *world) {
		none := onceward.Version{}
		w.applied(w.apply(states, none, state("pending"), event("1"), applyRequest("x")), onceward.Applied, none)
		if v := w.apply(states, none, state("pending"), event("1"), applyRequest("x")); v.Outcome != onceward.Applied || !v.Reentrant {
			w.Errorf("verdict is %+v", v)
		}
		w.applied(w.apply(states, none, state("pending"), event("1")), onceward.SameAgain, none)
		w.applied(w.apply(states, none, state("paid"), event("2")), onceward.Applied, none)
		w.applied(w.apply(states, none, state("expired"), event("3")), onceward.TransitionDenied, none)
		_, err := w.service.ApplyIfNewer(w.Context(), &onceward.ApplyIfNewerRequest{EntityID: entity(plain, "e"), Event: onceward.Event{State: "paid"}})
		w.refused(err, onceward.ReasonFieldInvalid, "version")
	}},
	{"the first reason for the flag and its time stay", func(w *world) {
		w.apply(holes, seq(1), event("A"))
		w.apply(holes, seq(3), event("B"))
		since := w.entity(holes, "e").FlaggedAt
		w.apply(holes, seq(3), event("C"))
		e := w.entity(holes, "e")
		if e.Reason != onceward.FlagGap || !e.FlaggedAt.Equal(since) {
			w.Errorf("flagged for %v at %s, was at %s", e.Reason, e.FlaggedAt, since)
		}
		w.apply(holes, seq(2), event("D"))
		if e := w.entity(holes, "e"); e.Open != onceward.FlagTie || e.Reason != onceward.FlagTie {
			w.Errorf("after the hole, open is %v and the reason %v", e.Open, e.Reason)
		}
	}},
	{"every stale and duplicate starts the retention anew", func(w *world) {
		keep := func(q *onceward.ApplyIfNewerRequest) { q.Retention = onceward.Of(time.Minute) }
		w.apply(plain, seq(7), keep)
		for range 3 {
			w.advance(40 * time.Second)
			w.applied(w.apply(plain, seq(6), keep), onceward.Stale, seq(7))
			w.advance(40 * time.Second)
			w.applied(w.apply(plain, seq(7), keep), onceward.SameAgain, seq(7))
		}
		w.advance(80 * time.Second)
		if v := w.apply(plain, seq(1)); v.Outcome != onceward.Applied || !v.FirstSeen {
			w.Errorf("verdict is %+v", v)
		}
	}},
	{"a repeat of what was applied starts the retention anew, and nothing that was not applied shortens it", func(w *world) {
		keep := func(d time.Duration) func(*onceward.ApplyIfNewerRequest) {
			return func(q *onceward.ApplyIfNewerRequest) { q.Retention = onceward.Of(d) }
		}
		w.apply(plain, seq(7), keep(time.Minute), applyRequest("x"))
		w.advance(40 * time.Second)
		w.apply(plain, seq(7), keep(time.Minute), applyRequest("x"))
		w.apply(plain, seq(6), keep(time.Second))
		w.advance(40 * time.Second)
		w.applied(w.apply(plain, seq(6)), onceward.Stale, seq(7))
	}},
	{"shuffled versions form one chain that ends at the newest", func(w *world) {
		const most = 100
		var mu sync.Mutex
		replaced := map[uint64]uint64{}
		order := rand.Perm(most)
		together(20, func(i int) {
			for n := i; n < most; n += 20 {
				v := uint64(order[n]) + 1
				if got := w.apply(plain, seq(v), event(fmt.Sprint(v))); got.Outcome == onceward.Applied {
					mu.Lock()
					replaced[v] = got.Previous.Sequence
					mu.Unlock()
				}
			}
		})
		links := 0
		for v := uint64(most); v != 0; v = replaced[v] {
			links++
		}
		if links != len(replaced) {
			w.Errorf("%d were applied, the chain from %d has %d", len(replaced), most, links)
		}
	}},
}

func (w *world) reconcile(namespace string, v onceward.Version, change ...func(*onceward.ReconcileEntityRequest)) (onceward.ApplyOutcome, onceward.Entity) {
	w.Helper()
	q := &onceward.ReconcileEntityRequest{
		EntityID: entity(namespace, "e"), Event: onceward.Event{Version: v}, Act: onceward.Act{Actor: "ana", Reason: "asked the bank"},
	}
	for _, c := range change {
		c(q)
	}
	o, e, err := w.service.ReconcileEntity(w.Context(), q)
	if err != nil {
		w.Fatalf("ReconcileEntity: %v", err)
	}
	return o, e
}

func backwards(q *onceward.ReconcileEntityRequest) { q.AllowBackwards = true }

var reconcileEntity = []test{
	{"settles a tie and never goes backwards by itself", func(w *world) {
		w.apply(plain, seq(9), event("A"))
		w.apply(plain, seq(9), event("B"))
		if o, e := w.reconcile(plain, seq(8)); o != onceward.Stale || e.Version != seq(9) || e.Open == 0 {
			w.Errorf("%v, %+v", o, e)
		}
		o, e := w.reconcile(plain, seq(9), func(q *onceward.ReconcileEntityRequest) { q.Event.ID = "B" })
		if o != onceward.Applied || e.EventID != "B" || e.Open != 0 || !e.FlaggedAt.IsZero() {
			w.Errorf("%v, %+v", o, e)
		}
		if o, e := w.reconcile(plain, seq(3), backwards); o != onceward.Applied || e.Version != seq(3) {
			w.Errorf("%v, %+v", o, e)
		}
		w.applied(w.apply(plain, seq(4)), onceward.Applied, seq(4))
	}},
	{"clears the holes up to there, and no further", func(w *world) {
		w.apply(hold, seq(1))
		w.apply(hold, seq(9))
		_, e := w.reconcile(hold, seq(5))
		w.missing(e, onceward.Range{First: 6, Last: 8})
		_, e = w.reconcile(hold, seq(9))
		w.missing(e)
		w.applied(w.apply(hold, seq(10)), onceward.Applied, seq(10))
	}},
	{"is not bound by the transitions", func(w *world) {
		w.apply(states, seq(1), state("paid"))
		_, e := w.reconcile(states, seq(2), func(q *onceward.ReconcileEntityRequest) { q.Event.State = "pending" })
		if e.State != "pending" {
			w.Errorf("entity is %+v", e)
		}
	}},
	{"by a state alone leaves the watermark and its event", func(w *world) {
		w.apply(states, seq(5), state("pending"), event("A"))
		w.reconcile(states, onceward.Version{}, func(q *onceward.ReconcileEntityRequest) { q.Event.State = "paid" })
		if e := w.entity(states, "e"); e.Version != seq(5) || e.EventID != "A" || e.State != "paid" {
			w.Errorf("entity is %+v", e)
		}
		w.applied(w.apply(states, seq(5), event("B")), onceward.Tie, seq(5))
	}},
	{"changes the kind only when told so", func(w *world) {
		w.apply(plain, seq(7))
		q := &onceward.ReconcileEntityRequest{
			EntityID: entity(plain, "e"), Event: onceward.Event{Version: dec("1")}, Act: onceward.Act{Actor: "ana", Reason: "moved"},
		}
		_, _, err := w.service.ReconcileEntity(w.Context(), q)
		w.refused(err, onceward.ReasonVersionKindMismatch, "")
		if o, e := w.reconcile(plain, dec("1"), backwards); o != onceward.Applied || e.Version != dec("1") {
			w.Errorf("%v, %+v", o, e)
		}
	}},
	{"creates what was unknown", func(w *world) {
		if o, e := w.reconcile(plain, seq(3)); o != onceward.Applied || e.Version != seq(3) {
			w.Errorf("%v, %+v", o, e)
		}
		w.applied(w.apply(plain, seq(3)), onceward.SameAgain, seq(3))
	}},
	{"is forgotten with the entity", func(w *world) {
		w.apply(plain, seq(57), event("A"))
		q := &onceward.ForgetEntityRequest{EntityID: entity(plain, "e"), Act: onceward.Act{Actor: "ana", Reason: "born again"}}
		was, err := w.service.ForgetEntity(w.Context(), q)
		if err != nil || was.Version != seq(57) {
			w.Fatalf("%+v, %v", was, err)
		}
		if v := w.apply(plain, seq(1)); !v.FirstSeen {
			w.Errorf("verdict is %+v", v)
		}
	}},
	{"holds for entities that are never forgotten", func(w *world) {
		w.apply(ageless, seq(1), event("A"))
		w.apply(ageless, seq(1), event("B"))
		w.advance(20 * 365 * 24 * time.Hour)
		if e := w.entity(ageless, "e"); e.Version != seq(1) || e.Open != onceward.FlagTie {
			w.Errorf("entity is %+v", e)
		}
	}},
}
