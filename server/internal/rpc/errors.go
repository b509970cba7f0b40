package rpc

import (
	"context"
	"errors"
	"log/slog"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/onceward/onceward/server/internal/onceward"
)

// errorDomain is the domain of every ErrorInfo.
const errorDomain = "onceward.v1"

// codeOf is the one table from the domain's errors to gRPC.
var codeOf = map[onceward.Reason]codes.Code{
	onceward.ReasonFieldInvalid:        codes.InvalidArgument,
	onceward.ReasonEffectStarted:       codes.FailedPrecondition,
	onceward.ReasonFinalNotAllowed:     codes.FailedPrecondition,
	onceward.ReasonRouting:             codes.FailedPrecondition,
	onceward.ReasonVersionUnit:         codes.InvalidArgument,
	onceward.ReasonVersionKindMismatch: codes.FailedPrecondition,
	onceward.ReasonClaimHeld:           codes.FailedPrecondition,
	onceward.ReasonClaimSettled:        codes.FailedPrecondition,
	onceward.ReasonClaimNotFound:       codes.NotFound,
	onceward.ReasonNamespaceUnknown:    codes.NotFound,
	onceward.ReasonRecordUnreadable:    codes.DataLoss,
	onceward.ReasonStoreUnavailable:    codes.Unavailable,
	onceward.ReasonStoreFull:           codes.ResourceExhausted,
	onceward.ReasonOverloaded:          codes.ResourceExhausted,
	onceward.ReasonReplication:         codes.Unavailable,
	onceward.ReasonDeadline:            codes.DeadlineExceeded,
	onceward.ReasonCanceled:            codes.Canceled,
}

// toStatus turns a domain error into what a client sees. The cause is logged,
// never sent; an error that is none of the domain's is a bug of ours.
func toStatus(ctx context.Context, log *slog.Logger, err error) error {
	var e *onceward.Error
	if !errors.As(err, &e) {
		log.ErrorContext(ctx, "unexpected error", "error", err)
		return status.Error(codes.Internal, "internal error")
	}
	if e.Cause != nil && e.Reason != onceward.ReasonCanceled {
		log.WarnContext(ctx, "call failed", "reason", string(e.Reason), "cause", e.Cause)
	}
	st := status.New(codeOf[e.Reason], e.Error())
	detailed, bad := st.WithDetails(details(e)...)
	if bad != nil {
		return st.Err()
	}
	return detailed.Err()
}

func details(e *onceward.Error) []protoadapt.MessageV1 {
	out := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: string(e.Reason), Domain: errorDomain}}
	if len(e.Violations) > 0 {
		bad := &errdetails.BadRequest{}
		for _, v := range e.Violations {
			bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: v.Field, Description: v.Description})
		}
		out = append(out, bad)
	}
	if e.RetryAfter > 0 {
		out = append(out, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	return out
}
