package rpc

import (
	"context"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/onceward"
)

const (
	maxOperations = 1000

	// batchWorkers is how many operations of a batch are under way at once.
	batchWorkers = 64
)

// Batch implements the RPC of that name. Operations on one key, or on one entity,
// share a partition and are carried out one after the other, in request order.
func (o *Onceward) Batch(ctx context.Context, in *oncewardv1.BatchRequest) (*oncewardv1.BatchResponse, error) {
	ops := in.GetOperations()
	if len(ops) > maxOperations {
		return nil, o.fail(ctx, onceward.Invalid("operations", "are %d, at most %d are allowed", len(ops), maxOperations))
	}
	results := make([]*oncewardv1.OperationResult, len(ops))
	var g errgroup.Group
	g.SetLimit(batchWorkers)
	for _, group := range byPartition(ops) {
		g.Go(func() error {
			for _, i := range group {
				results[i] = o.operate(ctx, ops[i])
			}
			return nil
		})
	}
	g.Wait()
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

// byPartition groups the indexes of operations by the partition they go to. What
// names none is refused anyway, wherever it stands.
func byPartition(ops []*oncewardv1.Operation) map[int][]int {
	groups := map[int][]int{}
	for i, op := range ops {
		p := partition(op)
		groups[p] = append(groups[p], i)
	}
	return groups
}

func partition(in *oncewardv1.Operation) int {
	switch op := in.GetOperation().(type) {
	case *oncewardv1.Operation_CheckAndClaim:
		return claimPartition(op.CheckAndClaim, op.CheckAndClaim.GetOrder().GetEntity())
	case *oncewardv1.Operation_ApplyIfNewer:
		return entityID(op.ApplyIfNewer).Record().Partition
	case *oncewardv1.Operation_Complete:
		return claimPartition(op.Complete, op.Complete.GetEntity())
	case *oncewardv1.Operation_Release:
		return claimPartition(op.Release, op.Release.GetEntity())
	case *oncewardv1.Operation_ExtendLease:
		return claimPartition(op.ExtendLease, op.ExtendLease.GetEntity())
	}
	return 0
}

func claimPartition(in named, entity string) int {
	id, err := claimID(in, entity)
	if err != nil {
		return 0
	}
	return id.Record().Partition
}
