package rpc

import (
	"context"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/onceward"
)

const (
	maxOperations = 1000

	// batchWorkers is how many operations of a batch are under way at once.
	batchWorkers = 256
)

// Batch implements the RPC of that name. Every operation is the same as its own
// call; what is on its way at the same time goes to the store together.
// Operations on one key, or on one entity, are carried out one after the other,
// in request order.
func (o *Onceward) Batch(ctx context.Context, in *oncewardv1.BatchRequest) (*oncewardv1.BatchResponse, error) {
	ops := in.GetOperations()
	if len(ops) > maxOperations {
		return nil, o.fail(ctx, onceward.Invalid("operations", "are %d, at most %d are allowed", len(ops), maxOperations))
	}
	results := make([]*oncewardv1.OperationResult, len(ops))
	first, then := inOrder(ops)
	var taken atomic.Int64
	var workers sync.WaitGroup
	for range min(batchWorkers, len(first)) {
		workers.Go(func() {
			for n := int(taken.Add(1)); n <= len(first); n = int(taken.Add(1)) {
				for i := first[n-1]; i != none; i = then[i] {
					results[i] = o.operate(ctx, ops[i])
				}
			}
		})
	}
	workers.Wait()
	leaveOut(results)
	return &oncewardv1.BatchResponse{Results: results}, nil
}

// maxAnswer bounds the results in one answer: gRPC clients refuse messages of
// more than 4 MiB unless told otherwise, and with them every verdict in it.
const maxAnswer = 3 << 20

// leaveOut replaces answers with stored results that no longer fit. They are
// those of finished claims, so that asking again changes nothing.
func leaveOut(results []*oncewardv1.OperationResult) {
	size := 0
	for i, r := range results {
		stored := len(r.GetCheckAndClaim().GetResult())
		if size += stored; stored > 0 && size > maxAnswer {
			size -= stored
			results[i] = &oncewardv1.OperationResult{Result: &oncewardv1.OperationResult_Error{Error: &oncewardv1.OperationError{
				Code:    int32(codes.ResourceExhausted),
				Reason:  "ANSWER_FULL",
				Message: "the stored results of this batch are too large for one answer: send this operation again in another call",
			}}}
		}
	}
}

const none = -1

// inOrder says which operations may start at once, and which one follows each:
// the next on the same key or entity, or none.
func inOrder(ops []*oncewardv1.Operation) (first, then []int) {
	last := make(map[onceward.ClaimID]int, len(ops))
	first, then = make([]int, 0, len(ops)), make([]int, len(ops))
	for i, op := range ops {
		then[i] = none
		subject := subject(op)
		if before, again := last[subject]; again {
			then[before] = i
		} else {
			first = append(first, i)
		}
		last[subject] = i
	}
	return first, then
}

// subject is what operations must share to be carried out in order: an entity, or
// a key where there is none. What names nothing is refused anyway, whenever that is.
func subject(in *oncewardv1.Operation) onceward.ClaimID {
	switch op := in.GetOperation().(type) {
	case *oncewardv1.Operation_CheckAndClaim:
		return subjectOf(op.CheckAndClaim, op.CheckAndClaim.GetOrder().GetEntity())
	case *oncewardv1.Operation_ApplyIfNewer:
		id := entityID(op.ApplyIfNewer)
		return onceward.ClaimID{Namespace: id.Namespace, Consumer: id.Consumer, Entity: id.Entity}
	case *oncewardv1.Operation_Complete:
		return subjectOf(op.Complete, op.Complete.GetEntity())
	case *oncewardv1.Operation_Release:
		return subjectOf(op.Release, op.Release.GetEntity())
	case *oncewardv1.Operation_ExtendLease:
		return subjectOf(op.ExtendLease, op.ExtendLease.GetEntity())
	}
	return onceward.ClaimID{}
}

func subjectOf(in named, entity string) onceward.ClaimID {
	id, _ := claimID(in, entity)
	if entity != "" {
		id.Key = ""
	}
	return id
}
