package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// TestShuffledVersionsFormOneChain has many callers bring the versions of one
// entity in any order, through two servers: whatever is applied replaced what was
// applied before it, in one chain that ends at the newest.
func TestShuffledVersionsFormOneChain(t *testing.T) {
	const rounds, versions, callers = 30, 200, 50
	servers := twoServers(t)
	for round := range rounds {
		entity := fmt.Sprintf("entity-%d", round)
		order := rand.Perm(versions)
		var mu sync.Mutex
		replaced := map[uint64]uint64{} // by the version that was applied
		spread(versions, callers, func(i int) {
			n := uint64(order[i]) + 1
			v := persist(t, application(entity, n), servers[i%2].ApplyIfNewer)
			if v.GetOutcome() != oncewardv1.ApplyOutcome_APPLY_OUTCOME_APPLIED {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if _, twice := replaced[n]; twice {
				t.Errorf("round %d: version %d was applied twice", round, n)
			}
			replaced[n] = v.GetPreviousVersion().GetSequence()
			if v.GetReentrant() {
				replaced[n] = unknown
			}
		})
		checkChain(t, round, replaced, versions)
	}
}

// unknown is what a version replaced whose call was repeated after a lost reply:
// the repeat is not told again.
const unknown = 1 << 63

func checkChain(t *testing.T, round int, replaced map[uint64]uint64, newest uint64) {
	t.Helper()
	last := uint64(0)
	for _, n := range slices.Sorted(maps.Keys(replaced)) {
		if was := replaced[n]; was != last && was != unknown {
			t.Errorf("round %d: version %d replaced %d, the one applied before it is %d", round, n, was, last)
		}
		last = n
	}
	if last != newest {
		t.Errorf("round %d: the chain ends at %d, want %d", round, last, newest)
	}
}

// TestTenThousandFlaggedEntitiesAreListedOnceEach reads all pages while others
// reconcile what has been listed.
func TestTenThousandFlaggedEntitiesAreListedOnceEach(t *testing.T) {
	const entities, perBatch = 10_000, 500
	servers := twoServers(t)
	spread(entities/perBatch, 2, func(i int) { tie(t, servers[i%2], i*perBatch, (i+1)*perBatch) })

	seen, reconciled := map[string]int{}, sync.WaitGroup{}
	var failed atomic.Int64
	token := ""
	for {
		page := persist(t, &oncewardv1.ListEntitiesRequest{Namespace: namespace, PageSize: 300, PageToken: token}, servers[0].admin.ListEntities)
		for _, e := range page.GetEntities() {
			seen[e.GetEntity()]++
		}
		reconciled.Go(func() {
			for _, e := range page.GetEntities() {
				if !reconcile(t, servers[1], e.GetEntity()) {
					failed.Add(1)
				}
			}
		})
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	reconciled.Wait()
	for i := range entities {
		if n := seen[fmt.Sprintf("tied-%d", i)]; n != 1 {
			t.Errorf("entity %d was listed %d times", i, n)
		}
	}
	if len(seen) != entities || failed.Load() > 0 {
		t.Errorf("%d entities were listed, want %d; %d could not be reconciled", len(seen), entities, failed.Load())
	}
	rest := persist(t, &oncewardv1.ListEntitiesRequest{Namespace: namespace}, servers[0].admin.ListEntities)
	if len(rest.GetEntities()) > 0 {
		t.Errorf("%d entities are flagged after they were reconciled", len(rest.GetEntities()))
	}
}

// tie brings two different events of one version to each entity.
func tie(t *testing.T, p *process, from, to int) {
	var ops []*oncewardv1.Operation
	for i := from; i < to; i++ {
		for _, event := range []string{"A", "B"} {
			q := application(fmt.Sprintf("tied-%d", i), 1)
			q.Namespace, q.EventId = namespace, event
			ops = append(ops, &oncewardv1.Operation{Operation: &oncewardv1.Operation_ApplyIfNewer{ApplyIfNewer: q}})
		}
	}
	resp := persist(t, &oncewardv1.BatchRequest{Operations: ops}, p.Batch)
	for i, r := range resp.GetResults() {
		for r.GetError() != nil { // a busy machine did not get to it in time
			r = persist(t, &oncewardv1.BatchRequest{Operations: ops[i : i+1]}, p.Batch).GetResults()[0]
		}
	}
}

func reconcile(t *testing.T, p *process, entity string) bool {
	v := persist(t, &oncewardv1.ReconcileEntityRequest{
		Namespace: namespace, Entity: entity, Version: sequence(2), Actor: "test", Reason: "asked the source",
	}, p.admin.ReconcileEntity)
	return v.GetOutcome() == oncewardv1.ApplyOutcome_APPLY_OUTCOME_APPLIED && !v.GetCurrent().GetNeedsReconcile()
}
