package client_test

import (
	"context"
	"sync"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// Stream answers every operation as its own call is answered, as it is ready.
func (f *fakeServer) Stream(s oncewardv1.OncewardService_StreamServer) error {
	f.mu.Lock()
	f.streams++
	n := f.streams
	f.mu.Unlock()
	if f.stream != nil {
		return f.stream(n, s)
	}
	return f.serveStream(s)
}

// opened is how many streams have arrived.
func (f *fakeServer) opened() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.streams
}

func (f *fakeServer) serveStream(s oncewardv1.OncewardService_StreamServer) error {
	var sending sync.Mutex
	var inFlight sync.WaitGroup
	defer inFlight.Wait()
	for {
		in, err := s.Recv()
		if err != nil {
			return err
		}
		inFlight.Go(func() {
			result := f.operate(s.Context(), in.GetOperation())
			sending.Lock()
			defer sending.Unlock()
			s.Send(&oncewardv1.StreamResponse{Id: in.GetId(), Result: result})
		})
	}
}

func (f *fakeServer) operate(ctx context.Context, op *oncewardv1.Operation) *oncewardv1.OperationResult {
	out, err := &oncewardv1.OperationResult{}, error(nil)
	switch in := op.GetOperation().(type) {
	case *oncewardv1.Operation_CheckAndClaim:
		r := &oncewardv1.OperationResult_CheckAndClaim{}
		r.CheckAndClaim, err = f.CheckAndClaim(ctx, in.CheckAndClaim)
		out.Result = r
	case *oncewardv1.Operation_ApplyIfNewer:
		r := &oncewardv1.OperationResult_ApplyIfNewer{}
		r.ApplyIfNewer, err = f.ApplyIfNewer(ctx, in.ApplyIfNewer)
		out.Result = r
	case *oncewardv1.Operation_Complete:
		r := &oncewardv1.OperationResult_Complete{}
		r.Complete, err = f.Complete(ctx, in.Complete)
		out.Result = r
	case *oncewardv1.Operation_Release:
		r := &oncewardv1.OperationResult_Release{}
		r.Release, err = f.Release(ctx, in.Release)
		out.Result = r
	case *oncewardv1.Operation_ExtendLease:
		r := &oncewardv1.OperationResult_ExtendLease{}
		r.ExtendLease, err = f.ExtendLease(ctx, in.ExtendLease)
		out.Result = r
	}
	if err != nil {
		return failedResult(err)
	}
	return out
}

func failedResult(err error) *oncewardv1.OperationResult {
	s := status.Convert(err)
	e := &oncewardv1.OperationError{Code: int32(s.Code()), Message: s.Message()}
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			e.Reason = info.GetReason()
		}
	}
	return &oncewardv1.OperationResult{Result: &oncewardv1.OperationResult_Error{Error: e}}
}
