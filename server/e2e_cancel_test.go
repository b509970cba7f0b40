package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/redistest"
)

// leaving calls with a context that ends at some moment of the call.
func leaving[Q, V any](q Q, do method[Q, V]) (v V, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	timer := time.AfterFunc(rand.N(40*time.Millisecond), cancel)
	defer timer.Stop()
	return do(ctx, q)
}

// gone tells whether an error is that of a caller who went away.
func gone(err error) bool { return status.Code(err) == codes.Canceled }

// TestCallersThatGoAwayDisturbNobody: calls travel together, so that what becomes of
// one that nobody waits for any more must not become another's answer.
func TestCallersThatGoAwayDisturbNobody(t *testing.T) {
	const left, callers = 2000, 64
	p := startServer(t, on(redistest.Start(t)))
	var mu sync.Mutex
	answered := 0
	requests := make([]*oncewardv1.CheckAndClaimRequest, left)
	for i := range requests {
		requests[i] = attempt(fmt.Sprintf("left-%d", i))
	}
	spread(left, callers, func(i int) {
		v, err := leaving(requests[i], p.CheckAndClaim)
		if err != nil {
			if !gone(err) {
				t.Errorf("claim %d: %v", i, err)
			}
			return
		}
		if v.GetOutcome() != claimed || v.GetFencingToken() <= 0 {
			t.Errorf("claim %d: %v, want CLAIMED", i, v)
		}
		mu.Lock()
		answered++
		mu.Unlock()
		_, err = leaving(completion(requests[i].GetKey(), v.GetFencingToken()), p.Complete)
		if err != nil && !gone(err) {
			t.Errorf("completion %d: %v", i, err)
		}
	})
	t.Logf("%d of %d callers stayed long enough", answered, left)
	if answered == left {
		t.Error("no caller went away: the test did not test it")
	}
	spread(200, callers, func(i int) {
		wantOwnAnswers(t, p, fmt.Sprintf("checked-%d", i))
	})
	// Whether or not a call that was left was carried out: who asks again with its
	// request_id has the claim, or it is completed with the key's own result.
	spread(200, callers, func(i int) {
		v := p.claim(requests[i])
		switch v.GetOutcome() {
		case claimed:
			p.complete(completion(requests[i].GetKey(), v.GetFencingToken()))
		case duplicate:
			wantResultOf(t, requests[i].GetKey(), v)
		default:
			t.Errorf("claim %d again: %v", i, v)
		}
	})
}

// wantOwnAnswers takes a key through its life, and every answer must be about it.
func wantOwnAnswers(t *testing.T, p *process, key string) {
	t.Helper()
	q := attempt(key)
	v := p.hold(q)
	if v.GetAttempt() != 1 {
		t.Errorf("%s: %v, want attempt 1", key, v)
	}
	if c := p.read(key); c.GetKey() != key || c.GetFencingToken() != v.GetFencingToken() || c.GetState() != stateInProgress {
		t.Errorf("%s is read as %v, want token %d", key, c, v.GetFencingToken())
	}
	p.complete(completion(key, v.GetFencingToken()))
	again := p.claim(attempt(key))
	if again.GetOutcome() != duplicate {
		t.Errorf("%s again: %v, want DUPLICATE", key, again)
	}
	wantResultOf(t, key, again)
}

func wantResultOf(t *testing.T, key string, v *oncewardv1.CheckAndClaimResponse) {
	t.Helper()
	if string(v.GetResult()) != "result of "+key {
		t.Errorf("%s has %q", key, v.GetResult())
	}
}

// TestBatchesThatAreLeftDisturbNoOthers is the same with batches.
func TestBatchesThatAreLeftDisturbNoOthers(t *testing.T) {
	const batches, size = 40, 50
	s := startLossy(t)
	claims := func(name string, n int) (*oncewardv1.BatchRequest, []string) {
		b, keys := &oncewardv1.BatchRequest{}, []string{}
		for i := range size {
			keys = append(keys, fmt.Sprintf("%s-%d-%d", name, n, i))
			b.Operations = append(b.Operations, claimOperation(attempt(keys[i])))
		}
		return b, keys
	}
	complete := func(keys []string, results []*oncewardv1.OperationResult) *oncewardv1.BatchRequest {
		b := &oncewardv1.BatchRequest{}
		for i, r := range results {
			b.Operations = append(b.Operations, completeOperation(completion(keys[i], r.GetCheckAndClaim().GetFencingToken())))
		}
		return b
	}
	spread(batches, 16, func(n int) {
		b, keys := claims("left", n)
		v, err := leaving(b, s.Batch)
		if err == nil {
			_, err = leaving(complete(keys, v.GetResults()), s.Batch)
		}
		if err != nil && !gone(err) {
			t.Errorf("batch %d: %v", n, err)
		}
	})
	spread(4, 4, func(n int) {
		b, keys := claims("checked", n)
		results := batch(t, s, b)
		for i, r := range results {
			wantFirstAttempt(t, r.GetCheckAndClaim())
			if again := r.GetCheckAndClaim(); again.GetOutcome() != claimed {
				t.Errorf("%s: %v", keys[i], again)
			}
		}
		for i, r := range batch(t, s, complete(keys, results)) {
			if !accepted(r.GetComplete()) {
				t.Errorf("completion of %s: %v", keys[i], r)
			}
		}
		again, _ := claims("checked", n)
		for i, r := range batch(t, s, again) {
			if r.GetCheckAndClaim().GetOutcome() != duplicate {
				t.Errorf("%s again: %v, want DUPLICATE", keys[i], r)
			}
			wantResultOf(t, keys[i], r.GetCheckAndClaim())
		}
	})
}
