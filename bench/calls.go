package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/onceward/onceward/bench/load"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

const (
	claimed   = oncewardv1.ClaimOutcome_CLAIM_OUTCOME_CLAIMED
	duplicate = oncewardv1.ClaimOutcome_CLAIM_OUTCOME_DUPLICATE
)

// keys are 64 hex digits, as of a payload's SHA-256, and never the same twice.
var (
	counter atomic.Uint64
	run64   = func() string { var b [20]byte; rand.Read(b[:]); return hex.EncodeToString(b[:]) }()
)

func newKey() string {
	n := strconv.FormatUint(counter.Add(1), 16)
	return run64 + strings.Repeat("0", 24-len(n)) + n
}

func (t *target) client(caller int) oncewardv1.OncewardServiceClient {
	return oncewardv1.NewOncewardServiceClient(t.conns[caller%len(t.conns)])
}

func request(key string) *oncewardv1.CheckAndClaimRequest {
	return &oncewardv1.CheckAndClaimRequest{Namespace: "bench", Key: key, RequestId: newKey()[32:]}
}

func claimOp(q *oncewardv1.CheckAndClaimRequest) *oncewardv1.Operation {
	return &oncewardv1.Operation{Operation: &oncewardv1.Operation_CheckAndClaim{CheckAndClaim: q}}
}

// claims are n claims of fresh keys, each as adjust leaves it.
func claims(n int, adjust func(*oncewardv1.CheckAndClaimRequest)) (ops []*oncewardv1.Operation) {
	for range n {
		q := request(newKey())
		adjust(q)
		ops = append(ops, claimOp(q))
	}
	return ops
}

// expect is an error where an answer is not what it must be.
func expect(got, want fmt.Stringer, err error) error {
	if err == nil && got.String() != want.String() {
		err = fmt.Errorf("the answer is %s, want %s", got, want)
	}
	return err
}

// start prepares a scenario on a target and gives its calls; ctx ends with it.
type start func(ctx context.Context, t *target) (load.Call, error)

func echo(_ context.Context, t *target) (load.Call, error) {
	return func(ctx context.Context, caller int) (int, error) {
		r, err := healthpb.NewHealthClient(t.conns[caller%len(t.conns)]).Check(ctx, &healthpb.HealthCheckRequest{})
		return 1, expect(r.GetStatus(), healthpb.HealthCheckResponse_SERVING, err)
	}, nil
}

func claim(_ context.Context, t *target) (load.Call, error) {
	return func(ctx context.Context, caller int) (int, error) {
		r, err := t.client(caller).CheckAndClaim(ctx, request(newKey()))
		return 1, expect(r.GetOutcome(), claimed, err)
	}, nil
}

// duplicates asks for n finished claims.
func duplicates(n int) start {
	return func(ctx context.Context, t *target) (load.Call, error) {
		finished, err := finish(ctx, t, n)
		var next atomic.Uint64
		return func(ctx context.Context, caller int) (int, error) {
			r, err := t.client(caller).CheckAndClaim(ctx, request(finished[next.Add(1)%uint64(n)]))
			return 1, expect(r.GetOutcome(), duplicate, err)
		}, err
	}
}

// pair claims and completes: two decisions that count as one.
func pair(_ context.Context, t *target) (load.Call, error) {
	return func(ctx context.Context, caller int) (int, error) {
		return 1, claimAndComplete(ctx, t, caller, request(newKey()))
	}, nil
}

// orderedPair does the same with versions that rise on 10,000 entities.
func orderedPair(_ context.Context, t *target) (load.Call, error) {
	return func(ctx context.Context, caller int) (int, error) {
		q := request(newKey())
		n := counter.Add(1)
		q.Namespace = "ordered"
		q.Order = &oncewardv1.Order{Entity: "entity-" + strconv.FormatUint(n%10_000, 10), Version: sequence(n)}
		return 1, claimAndComplete(ctx, t, caller, q)
	}, nil
}

func claimAndComplete(ctx context.Context, t *target, caller int, q *oncewardv1.CheckAndClaimRequest) error {
	r, err := t.client(caller).CheckAndClaim(ctx, q)
	if err = expect(r.GetOutcome(), claimed, err); err != nil {
		return err
	}
	done, err := t.client(caller).Complete(ctx, &oncewardv1.CompleteRequest{
		Namespace: q.GetNamespace(), Key: q.GetKey(), Entity: q.GetOrder().GetEntity(), FencingToken: r.GetFencingToken(),
	})
	return expect(done.GetOutcome(), oncewardv1.SettleOutcome_SETTLE_OUTCOME_OK, err)
}

func sequence(n uint64) *oncewardv1.Version {
	return &oncewardv1.Version{Value: &oncewardv1.Version_Sequence{Sequence: n}}
}

// apply moves 10,000 entities forward. Calls overtake each other, so that some
// find theirs gone by.
func apply(_ context.Context, t *target) (load.Call, error) {
	return func(ctx context.Context, caller int) (int, error) {
		n := counter.Add(1)
		r, err := t.client(caller).ApplyIfNewer(ctx, &oncewardv1.ApplyIfNewerRequest{
			Namespace: "bench", Entity: "entity-" + strconv.FormatUint(n%10_000, 10), Version: sequence(n), RequestId: newKey()[32:],
		})
		if r.GetOutcome() == oncewardv1.ApplyOutcome_APPLY_OUTCOME_STALE {
			return 1, err
		}
		return 1, expect(r.GetOutcome(), oncewardv1.ApplyOutcome_APPLY_OUTCOME_APPLIED, err)
	}, nil
}

// batch claims fresh keys, size at a time.
func batch(size int) start {
	return func(_ context.Context, t *target) (load.Call, error) {
		return func(ctx context.Context, caller int) (int, error) {
			_, err := t.batch(ctx, caller, claims(size, func(*oncewardv1.CheckAndClaimRequest) {}))
			return size, err
		}, nil
	}
}

// batch sends operations, all of which must succeed: claims with CLAIMED.
func (t *target) batch(ctx context.Context, caller int, ops []*oncewardv1.Operation) ([]*oncewardv1.OperationResult, error) {
	r, err := t.client(caller).Batch(ctx, &oncewardv1.BatchRequest{Operations: ops})
	if err != nil {
		return nil, err
	}
	if len(r.GetResults()) != len(ops) {
		return nil, fmt.Errorf("%d results of %d operations", len(r.GetResults()), len(ops))
	}
	for i, result := range r.GetResults() {
		switch {
		case result.GetResult() == nil:
			return nil, fmt.Errorf("operation %d has no result", i)
		case result.GetError() != nil:
			return nil, fmt.Errorf("operation %d: %s", i, result.GetError().GetMessage())
		case result.GetCheckAndClaim() != nil && result.GetCheckAndClaim().GetOutcome() != claimed:
			return nil, fmt.Errorf("operation %d: the answer is %s", i, result.GetCheckAndClaim().GetOutcome())
		}
	}
	return r.GetResults(), nil
}

const largestBatch = 1000

// finish makes n claims and completes them, and gives their keys.
func finish(ctx context.Context, t *target, n int) (keys []string, err error) {
	for len(keys) < n {
		var completions []*oncewardv1.Operation
		first := len(keys)
		results, err := t.batch(ctx, 0, claims(min(largestBatch, n-first), func(q *oncewardv1.CheckAndClaimRequest) { keys = append(keys, q.GetKey()) }))
		if err != nil {
			return nil, err
		}
		for i, r := range results {
			completions = append(completions, &oncewardv1.Operation{Operation: &oncewardv1.Operation_Complete{Complete: &oncewardv1.CompleteRequest{
				Namespace: "bench", Key: keys[first+i], FencingToken: r.GetCheckAndClaim().GetFencingToken(),
			}}})
		}
		if _, err := t.batch(ctx, 0, completions); err != nil {
			return nil, err
		}
	}
	return keys, nil
}
