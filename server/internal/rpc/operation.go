package rpc

import (
	"context"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/onceward"
)

// operate carries out one operation of a batch or a stream, by the method of its
// own call.
func (o *Onceward) operate(ctx context.Context, in *oncewardv1.Operation) (out *oncewardv1.OperationResult) {
	defer func() {
		if p := recover(); p != nil { // outside the reach of the interceptor that recovers
			out = failed(recovered(ctx, o.log, p))
		}
	}()
	switch op := in.GetOperation().(type) {
	case *oncewardv1.Operation_CheckAndClaim:
		r, err := o.CheckAndClaim(ctx, op.CheckAndClaim)
		if err != nil {
			return failed(err)
		}
		return &oncewardv1.OperationResult{Result: &oncewardv1.OperationResult_CheckAndClaim{CheckAndClaim: r}}
	case *oncewardv1.Operation_ApplyIfNewer:
		r, err := o.ApplyIfNewer(ctx, op.ApplyIfNewer)
		if err != nil {
			return failed(err)
		}
		return &oncewardv1.OperationResult{Result: &oncewardv1.OperationResult_ApplyIfNewer{ApplyIfNewer: r}}
	case *oncewardv1.Operation_Complete:
		r, err := o.Complete(ctx, op.Complete)
		if err != nil {
			return failed(err)
		}
		return &oncewardv1.OperationResult{Result: &oncewardv1.OperationResult_Complete{Complete: r}}
	case *oncewardv1.Operation_Release:
		r, err := o.Release(ctx, op.Release)
		if err != nil {
			return failed(err)
		}
		return &oncewardv1.OperationResult{Result: &oncewardv1.OperationResult_Release{Release: r}}
	case *oncewardv1.Operation_ExtendLease:
		r, err := o.ExtendLease(ctx, op.ExtendLease)
		if err != nil {
			return failed(err)
		}
		return &oncewardv1.OperationResult{Result: &oncewardv1.OperationResult_ExtendLease{ExtendLease: r}}
	}
	return failed(o.fail(ctx, onceward.Invalid("operation", "is required: one of the calls")))
}

// failed is the error that the operation's own call would have ended with.
func failed(err error) *oncewardv1.OperationResult {
	st := status.Convert(err)
	e := &oncewardv1.OperationError{Code: int32(st.Code()), Message: st.Message()}
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			e.Reason = info.GetReason()
		}
	}
	return &oncewardv1.OperationResult{Result: &oncewardv1.OperationResult_Error{Error: e}}
}
