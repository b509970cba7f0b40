package redisstore_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/onceward/onceward/server/internal/onceward"
	"github.com/onceward/onceward/server/internal/redisstore"
	"github.com/onceward/onceward/server/internal/redistest"
)

// TestManyLargeResultsAtOnceAreAllStored has callers complete with the largest
// results when pipelines are long, and read them all again.
func TestManyLargeResultsAtOnceAreAllStored(t *testing.T) {
	const callers = 32
	r := redistest.Start(t)
	s, err := redisstore.Open(redisstore.Standalone, r.URL(), redisstore.DefaultPrefix)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	policies := onceward.DefaultPolicies()
	policies.Default.MaxResultBytes = onceward.MaxResultBytes
	service := onceward.NewService(s, policies)
	each := func(n int, f func(i int)) {
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { f(i) })
		}
		all.Wait()
	}
	for round := range 5 { // pipelines grow
		each(500, func(i int) {
			if _, err := service.CheckAndClaim(t.Context(), asking(fmt.Sprint("small ", round, i))); err != nil {
				t.Error(err)
			}
		})
	}
	claims := make([]onceward.ClaimVerdict, callers)
	each(callers, func(i int) {
		var err error
		if claims[i], err = service.CheckAndClaim(t.Context(), asking(fmt.Sprint(i))); err != nil {
			t.Error(err)
		}
	})
	each(callers, func(i int) {
		patiently(t, func() error {
			done, err := service.Complete(t.Context(), &onceward.CompleteRequest{
				ClaimID: onceward.ClaimID{Namespace: "n", Key: fmt.Sprint(i)}, Token: claims[i].Token, Result: []byte(longest(fmt.Sprint(i, " "), onceward.MaxResultBytes)),
			})
			if err == nil && done.Outcome == onceward.Lost { // a repeat is told that it is settled already
				t.Errorf("completion %d: %v", i, done.Outcome)
			}
			return err
		})
	})
	each(callers, func(i int) {
		patiently(t, func() error {
			v, err := service.CheckAndClaim(t.Context(), asking(fmt.Sprint(i)))
			if err == nil && (v.Outcome != onceward.Duplicate || string(v.Result.Body) != longest(fmt.Sprint(i, " "), onceward.MaxResultBytes)) {
				t.Errorf("claim %d again: %v, %d bytes", i, v.Outcome, len(v.Result.Body))
			}
			return err
		})
	})
}

// patiently repeats a call for which a busy machine had no time.
func patiently(t *testing.T, call func() error) {
	t.Helper()
	redistest.Eventually(t, "an answer", call)
}
