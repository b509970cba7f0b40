package redisstore_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/server/internal/onceward"
	"github.com/onceward/onceward/server/internal/redisstore"
	"github.com/onceward/onceward/server/internal/redistest"
)

// crowd is a service on a Redis whose answers can be held back, so that callers
// meet in the queue, and another one, on the same Redis, that nothing holds back.
type crowd struct {
	*onceward.Service
	other    *onceward.Service
	redis    *redistest.Server
	proxy    *redistest.Proxy
	policies *onceward.Policies
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{redis: redistest.Start(t), policies: onceward.DefaultPolicies()}
	c.proxy = redistest.StartProxy(t, c.redis.Addr)
	open := func(url string) *onceward.Service {
		s, err := redisstore.Open(redisstore.Standalone, url, redisstore.DefaultPrefix)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return onceward.NewService(s, c.policies)
	}
	c.Service, c.other = open(c.proxy.URL()), open(c.redis.URL())
	return c
}

func asking(key string) *onceward.CheckAndClaimRequest {
	return &onceward.CheckAndClaimRequest{ClaimID: onceward.ClaimID{Namespace: "n", Key: key}, RequestID: rand.Text()}
}

// finish claims and completes a key.
func finish(ctx context.Context, s *onceward.Service, key string) error {
	q := asking(key)
	v, err := s.CheckAndClaim(ctx, q)
	if err != nil || v.Outcome != onceward.Claimed {
		return fmt.Errorf("claim of %s: %v, %w", key, v.Outcome, err)
	}
	done, err := s.Complete(ctx, &onceward.CompleteRequest{ClaimID: q.ClaimID, Token: v.Token, Result: []byte("result of " + key)})
	if err != nil || done.Outcome != onceward.OK {
		return fmt.Errorf("completion of %s: %v, %w", key, done.Outcome, err)
	}
	return nil
}

func mustFinish(t *testing.T, s *onceward.Service, key string) {
	t.Helper()
	if err := finish(t.Context(), s, key); err != nil {
		t.Fatal(err)
	}
}

// answer is what one caller was told.
type answer struct {
	onceward.ClaimVerdict
	err error
}

// ask makes calls at once and gives what they are told, in their order. They meet
// in the queue behind one that is held up until all have begun.
func (c *crowd) ask(t *testing.T, calls ...*onceward.CheckAndClaimRequest) []answer {
	t.Helper()
	c.proxy.HoldReplies()
	out := make([]answer, len(calls))
	var begun, ended sync.WaitGroup
	ended.Go(func() {
		c.GetClaim(t.Context(), &onceward.GetClaimRequest{ClaimID: onceward.ClaimID{Namespace: "n", Key: "held up"}})
	})
	redistest.Eventually(t, "an exchange is held up", func() error {
		if c.proxy.HeldBack() == 0 {
			return errors.New("none is")
		}
		return nil
	})
	for i, q := range calls {
		begun.Add(1)
		ended.Go(func() {
			begun.Done()
			out[i].ClaimVerdict, out[i].err = c.CheckAndClaim(t.Context(), q)
		})
	}
	begun.Wait()
	c.proxy.Pass()
	ended.Wait()
	return out
}

// scriptsRun is how many scripts Redis was asked to run.
func scriptsRun(t *testing.T, r *redistest.Server) (n int) {
	t.Helper()
	stats := r.Do("INFO", "commandstats").(string)
	_, rest, found := strings.Cut(stats, "cmdstat_evalsha:calls=")
	if _, err := fmt.Sscanf(rest, "%d", &n); !found || err != nil {
		t.Fatalf("no EVALSHA in %q", stats)
	}
	return n
}

// TestCallersOfOneCompletedKeyShareAnAnswer counts what a crowd costs Redis.
func TestCallersOfOneCompletedKeyShareAnAnswer(t *testing.T) {
	c := newCrowd(t)
	mustFinish(t, c.Service, "done")
	var calls []*onceward.CheckAndClaimRequest
	for range 500 {
		calls = append(calls, asking("done"))
	}
	before := scriptsRun(t, c.redis)
	for _, a := range c.ask(t, calls...) {
		if a.err != nil || a.Outcome != onceward.Duplicate || string(a.Result.Body) != "result of done" {
			t.Fatalf("a caller is told %v, %q, %v", a.Outcome, a.Result.Body, a.err)
		}
	}
	if n := scriptsRun(t, c.redis) - before; n > len(calls)/4 {
		t.Errorf("%d callers cost %d scripts", len(calls), n)
	}
}

// TestEveryDuplicateIsLoggedWhereAllAre: what is written down cannot be shared.
func TestEveryDuplicateIsLoggedWhereAllAre(t *testing.T) {
	c := newCrowd(t)
	c.policies.Default.Audit = onceward.AuditAll
	mustFinish(t, c.Service, "done")
	var calls []*onceward.CheckAndClaimRequest
	for range 150 { // one page of the log
		calls = append(calls, asking("done"))
	}
	for _, a := range c.ask(t, calls...) {
		if a.err != nil || a.Outcome != onceward.Duplicate {
			t.Fatalf("a caller is told %v, %v", a.Outcome, a.err)
		}
	}
	page, err := c.ListDecisions(t.Context(), &onceward.ListDecisionsRequest{Namespace: "n", Page: onceward.Page{Size: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	logged := 0
	for _, d := range page.Decisions {
		if d.Outcome == "DUPLICATE" {
			logged++
		}
	}
	if logged < len(calls) {
		t.Errorf("%d of %d duplicates are in the log", logged, len(calls))
	}
}

// TestWhoComesAfterForgetClaimIsNotToldDuplicate has another process forget claims
// under a crowd that shares answers about them. A call that starts after ForgetClaim
// has returned must not get an answer from before it.
func TestWhoComesAfterForgetClaimIsNotToldDuplicate(t *testing.T) {
	c := newCrowd(t)
	ctx, stop := context.WithCancel(t.Context())
	const keys, rounds = 3, 60
	name := func(k int) string { return fmt.Sprint("key ", k) }
	var crowd sync.WaitGroup
	for k := range keys {
		mustFinish(t, c.Service, name(k))
		for range 16 {
			crowd.Go(func() {
				for ctx.Err() == nil {
					q := asking(name(k))
					v, err := c.CheckAndClaim(ctx, q)
					if ctx.Err() == nil && err != nil {
						t.Errorf("%v", err)
					}
					if err == nil && v.Outcome == onceward.Claimed { // it came first after ForgetClaim
						c.Complete(context.WithoutCancel(ctx), &onceward.CompleteRequest{ClaimID: q.ClaimID, Token: v.Token, Result: []byte(rand.Text())})
					}
				}
			})
		}
	}
	defer crowd.Wait()
	defer stop()
	forgotten := 0
	for i := range rounds {
		id := onceward.ClaimID{Namespace: "n", Key: name(i % keys)}
		was, err := c.other.ForgetClaim(t.Context(), &onceward.ForgetClaimRequest{ClaimID: id, Act: onceward.Act{Actor: "test", Reason: "test"}})
		if err != nil {
			t.Fatal(err)
		}
		if was.State == onceward.Completed {
			forgotten++
		}
		v, err := c.CheckAndClaim(t.Context(), asking(id.Key))
		if err != nil {
			t.Fatal(err)
		}
		// One of the crowd may have claimed and completed it since: with a result of
		// its own.
		if v.Outcome == onceward.Duplicate && string(v.Result.Body) == string(was.Result.Body) {
			t.Fatalf("round %d: DUPLICATE of a claim that is forgotten", i)
		}
		if v.Outcome == onceward.Claimed {
			if _, err := c.Complete(t.Context(), &onceward.CompleteRequest{ClaimID: id, Token: v.Token, Result: []byte(rand.Text())}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if forgotten < rounds/4 {
		t.Errorf("only %d completed claims were forgotten: the test did not test it", forgotten)
	}
}

// TestTheHolderOfAFinalClaimIsKnownInACrowd: it gets its claim again, and nobody
// else does.
func TestTheHolderOfAFinalClaimIsKnownInACrowd(t *testing.T) {
	c := newCrowd(t)
	for round := range 5 {
		holder := asking(fmt.Sprint("final ", round))
		holder.Final = true
		v, err := c.CheckAndClaim(t.Context(), holder)
		if err != nil || v.Outcome != onceward.Claimed {
			t.Fatalf("%v, %v", v.Outcome, err)
		}
		var calls []*onceward.CheckAndClaimRequest
		for i := range 200 {
			q := asking(holder.Key)
			q.Final = i%2 == 0
			if i%10 == 3 {
				q.Final, q.RequestID = true, holder.RequestID
			}
			calls = append(calls, q)
		}
		for i, a := range c.ask(t, calls...) {
			own := calls[i].RequestID == holder.RequestID
			switch {
			case a.err != nil:
				t.Fatal(a.err)
			case own && (a.Outcome != onceward.Claimed || a.Token != v.Token || !a.Reentrant):
				t.Errorf("the holder is told %v with token %d, want CLAIMED with %d", a.Outcome, a.Token, v.Token)
			case !own && (a.Outcome != onceward.Duplicate || a.Token != 0):
				t.Errorf("another is told %v with token %d, want DUPLICATE", a.Outcome, a.Token)
			}
		}
	}
}

// TestAConflictIsOnlyToldToThoseWhoHaveIt mixes fingerprints in one crowd.
func TestAConflictIsOnlyToldToThoseWhoHaveIt(t *testing.T) {
	c := newCrowd(t)
	first := asking("printed")
	first.Fingerprint = "same"
	v, err := c.CheckAndClaim(t.Context(), first)
	if err == nil {
		_, err = c.Complete(t.Context(), &onceward.CompleteRequest{ClaimID: first.ClaimID, Token: v.Token})
	}
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]onceward.ClaimOutcome{
		"": onceward.Duplicate, "same": onceward.Duplicate, "other": onceward.Conflict, "samesame": onceward.Conflict,
	}
	var calls []*onceward.CheckAndClaimRequest
	for range 60 {
		for print := range want {
			q := asking("printed")
			q.Fingerprint = print
			calls = append(calls, q)
		}
	}
	for i, a := range c.ask(t, calls...) {
		if print := calls[i].Fingerprint; a.err != nil || a.Outcome != want[print] {
			t.Errorf("fingerprint %q: %v, %v, want %v", print, a.Outcome, a.err, want[print])
		}
	}
}

// TestOfACrowdOneGetsTheClaim has a crowd ask for keys that nobody has had.
func TestOfACrowdOneGetsTheClaim(t *testing.T) {
	c := newCrowd(t)
	var calls []*onceward.CheckAndClaimRequest
	for i := range 400 {
		calls = append(calls, asking(fmt.Sprint("new ", i%8)))
	}
	claimed := map[string]int64{}
	for i, a := range c.ask(t, calls...) {
		key := calls[i].Key
		switch {
		case a.err != nil:
			t.Fatal(a.err)
		case a.Outcome == onceward.Claimed && claimed[key] != 0:
			t.Errorf("%s is claimed twice", key)
		case a.Outcome == onceward.Claimed:
			claimed[key] = a.Token
		case a.Outcome != onceward.StillInProgress:
			t.Errorf("%s: %v", key, a.Outcome)
		}
	}
	for i := range 8 {
		id := onceward.ClaimID{Namespace: "n", Key: fmt.Sprint("new ", i)}
		if done, err := c.Complete(t.Context(), &onceward.CompleteRequest{ClaimID: id, Token: claimed[id.Key]}); err != nil || done.Outcome != onceward.OK {
			t.Errorf("%s: %v, %v", id.Key, done.Outcome, err)
		}
	}
}

// TestACallerThatGoesAwayTakesNobodyAlong ends the contexts of some callers, the
// first in the queue among them, while all of them wait.
func TestACallerThatGoesAwayTakesNobodyAlong(t *testing.T) {
	c := newCrowd(t)
	mustFinish(t, c.Service, "done")
	for range 10 {
		leaving, leave := context.WithCancel(t.Context())
		c.proxy.HoldReplies()
		var all sync.WaitGroup
		all.Go(func() {
			c.GetClaim(t.Context(), &onceward.GetClaimRequest{ClaimID: onceward.ClaimID{Namespace: "n", Key: "held up"}})
		})
		redistest.Eventually(t, "an exchange is held up", func() error {
			if c.proxy.HeldBack() == 0 {
				return errors.New("none is")
			}
			return nil
		})
		begin := time.Now()
		for i := range 100 {
			ctx := t.Context()
			if i%3 == 0 {
				ctx = leaving
			}
			all.Go(func() {
				v, err := c.CheckAndClaim(ctx, asking("done"))
				gone := ctx == leaving && err != nil
				if !gone && (err != nil || v.Outcome != onceward.Duplicate) {
					t.Errorf("caller %d: %v, %v", i, v.Outcome, err)
				}
			})
		}
		leave()
		c.proxy.Pass()
		all.Wait()
		if took := time.Since(begin); took > time.Second {
			t.Errorf("the others waited %s", took)
		}
	}
}
