package client

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	// ErrUnknownOutcome says that the service answered with a verdict which
	// this version of the client does not know, or with none. It is not a
	// permission: do not make the effect, do not acknowledge the event.
	ErrUnknownOutcome = errors.New("onceward: unknown outcome")

	// ErrLeaseLost says that the claim is no longer, or can no longer be
	// believed to be, this attempt's. It is the cause of the function's
	// cancelled context in [Client.Once], and Once's error if another attempt
	// has taken over: then nothing was recorded for this attempt, and if its
	// effect has happened it may have happened twice. Do not acknowledge.
	ErrLeaseLost = errors.New("onceward: lease lost, another attempt may hold the claim")

	// ErrParked says that the event waits for an operator, because its attempts
	// are used up or an attempt parked it. Repeating it changes nothing.
	ErrParked = errors.New("onceward: parked, waiting for an operator")

	// ErrConflict says that the key was used before with another fingerprint:
	// two payloads claim to be one event. The stored result is not disclosed.
	ErrConflict = errors.New("onceward: key was used with another fingerprint")
)

// InProgressError says that another attempt holds the event. Do not acknowledge
// it: the holder may die. Ask the sender to come again after RetryAfter.
type InProgressError struct {
	// RetryAfter is above zero and at most what is left of the holder's lease.
	// The holder may finish earlier.
	RetryAfter time.Duration
}

func (e *InProgressError) Error() string {
	return fmt.Sprintf("onceward: in progress elsewhere, retry after %v", e.RetryAfter)
}

// NeedsReconcileError says that an earlier attempt had started the effect and
// died, in a namespace that does not let the next one go ahead by itself.
// Somebody has to find out whether the effect happened and resolve the claim.
type NeedsReconcileError struct {
	// Takeover tells of the attempt that died. Nil if the service did not say.
	Takeover *Takeover
}

func (e *NeedsReconcileError) Error() string {
	return "onceward: an earlier attempt may have made the effect, reconcile first"
}

// FailedError says that the event was dealt with and failed for good: by this
// call's function (see [Terminal]), or before. Acknowledge the event: repeating
// it cannot help.
type FailedError struct {
	// Result is what was stored with the failure. Result.Replayed tells whether
	// the failure is an earlier one.
	Result Result
	// Err is what the function returned. Nil for an earlier failure.
	Err error
}

func (e *FailedError) Error() string {
	if e.Err == nil {
		return "onceward: failed terminally before"
	}
	return "onceward: failed terminally: " + e.Err.Error()
}

// Unwrap returns what the function returned.
func (e *FailedError) Unwrap() error { return e.Err }

// OutOfOrderError says that the order of the entity does not let this event go
// ahead now. Only in namespaces with routing: entity. What to do depends on
// Outcome; in short, and at length at [ApplyOutcome]:
//
//	Stale, AlreadyApplied   acknowledge: as new, or newer, was applied
//	Busy                    do not acknowledge: come again after RetryAfter
//	Gap                     do not acknowledge: come again when the missing are in
//	Future                  do not acknowledge: a clock is wrong
//	Tie, TransitionDenied   flagged: acknowledge if flagged entities are
//	                        reconciled, else ask the source of truth now
type OutOfOrderError struct {
	// Outcome is the order's verdict. Never Applied, unspecified or unknown.
	Outcome ApplyOutcome
	// RetryAfter is when to come again. Above zero with Busy, else zero.
	RetryAfter time.Duration
	// Entity is the state that the event was compared with, what is missing and
	// whether it is flagged included.
	Entity *EntityState
}

func (e *OutOfOrderError) Error() string {
	return "onceward: out of order: " + e.Outcome.String()
}

// UnrecordedError says that the function has returned, so that its effect has
// happened, but that the service did not record it: it could not be reached any
// more, or refused the completion. Do not acknowledge the event. Once the lease
// is over the next attempt takes over ([Claim.Takeover]) and has to look for the
// effect. After a refusal, which no repeat can heal, the claim is parked if
// possible, so that an operator decides instead.
type UnrecordedError struct {
	// Result is what the function returned.
	Result Result
	// Err is the last answer to the completion.
	Err error
}

func (e *UnrecordedError) Error() string {
	return "onceward: the effect has happened but is not recorded: " + e.Err.Error()
}

// Unwrap returns the last answer to the completion.
func (e *UnrecordedError) Unwrap() error { return e.Err }

// Terminal marks the error of a function run by [Client.Once] as final: the
// event is completed as failed, with the result that the function returns
// beside it, and is never run again. Once then returns a [FailedError] that
// wraps err, and so does every later call. Terminal(nil) is nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

type terminalError struct{ error }

func (e *terminalError) Unwrap() error { return e.error }

// ReleaseError is an error with instructions for the release that follows it: a
// function run by [Client.Once] returns one to say more than "failed, try
// again".
type ReleaseError struct {
	// Err is the error itself. Required.
	Err error
	// Reason is stored with the claim and shown to operators: up to 1 KiB, cut
	// at a character if longer. Empty: a classification of Err such as
	// "deadline exceeded" or "error (*net.OpError)". An error's text is never
	// stored by itself, because it may hold what should not be there.
	Reason string
	// RetryAfter holds the event back for this long, up to 24 h. Zero: the next
	// attempt may start at once. Ignored if the claim is parked.
	RetryAfter time.Duration
	// Park says that no attempt may follow until an operator has decided.
	Park bool
}

func (e *ReleaseError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ReleaseError) Unwrap() error { return e.Err }

// errorDomain is the domain of the service's ErrorInfo.
const errorDomain = "onceward.v1"

// Reason returns the service's reason for an error, such as "EFFECT_STARTED" or
// "STORE_FULL", also from inside a wrapped error. It is empty for errors which
// do not come from the service.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == errorDomain {
			return info.GetReason()
		}
	}
	return ""
}

// transient reports whether a repeat of the same call may be answered
// differently.
func transient(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied,
		codes.FailedPrecondition, codes.OutOfRange, codes.Unimplemented, codes.DataLoss,
		codes.Unauthenticated:
		return false
	}
	return true
}
