package onceward

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Reason says why a call failed, in the words that clients see in
// google.rpc.ErrorInfo. UPPER_SNAKE_CASE, stable.
type Reason string

// The reasons. Package rpc maps each to one gRPC status code.
const (
	ReasonFieldInvalid        Reason = "FIELD_INVALID"         // a field breaks its bound; Violations name it
	ReasonEffectStarted       Reason = "EFFECT_STARTED"        // Release without park although the effect may have happened
	ReasonFinalNotAllowed     Reason = "FINAL_NOT_ALLOWED"     // the namespace's policy forbids final claims
	ReasonVersionUnit         Reason = "VERSION_UNIT"          // a timestamp that no sender can mean
	ReasonVersionKindMismatch Reason = "VERSION_KIND_MISMATCH" // the entity counts in another kind
	ReasonClaimHeld           Reason = "CLAIM_HELD"            // ResolveClaim of a claim whose lease is running
	ReasonClaimSettled        Reason = "CLAIM_SETTLED"         // ResolveClaim of a finished claim
	ReasonClaimNotFound       Reason = "CLAIM_NOT_FOUND"       // ResolveClaim of nothing
	ReasonRouting             Reason = "ROUTING"               // an order in a namespace that routes by key
	ReasonNamespaceUnknown    Reason = "NAMESPACE_UNKNOWN"     // strict policies, and the namespace is not listed
	ReasonRecordUnreadable    Reason = "RECORD_UNREADABLE"     // a stored record has a shape this release does not know
	ReasonStoreUnavailable    Reason = "STORE_UNAVAILABLE"     // the store could not be asked
	ReasonStoreFull           Reason = "STORE_FULL"            // the store takes no more writes
	ReasonOverloaded          Reason = "OVERLOADED"            // more calls wait for the store than it can take
	ReasonReplication         Reason = "REPLICATION"           // written, but fewer replicas than asked for confirmed it
	ReasonDeadline            Reason = "DEADLINE"              // time ran out; the outcome is unknown
	ReasonCanceled            Reason = "CANCELED"              // the caller went away; the outcome is unknown
)

// Violation is one field that breaks its bound.
type Violation struct {
	Field       string // as in the contract: "lease", "order.entity"
	Description string // names the bound; never repeats the value
}

// Error is a call that got no verdict. Its text is safe to send: it never holds
// a key, an entity, a result or a store's own words. Those stay in Cause, for
// the log.
type Error struct {
	Reason     Reason
	Message    string
	Violations []Violation   // with ReasonFieldInvalid
	RetryAfter time.Duration // > 0 where trying again makes sense
	Cause      error
}

func (e *Error) Error() string {
	if len(e.Violations) == 0 {
		return e.Message
	}
	parts := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		parts[i] = v.Field + ": " + v.Description
	}
	return strings.Join(parts, "; ")
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// Invalid is the error for one field.
func Invalid(field, format string, args ...any) *Error {
	var c checks
	c.fail(field, format, args...)
	return c.err().(*Error)
}

// Unreadable is the error for a stored record that this release cannot read.
func Unreadable(cause error) *Error {
	return &Error{Reason: ReasonRecordUnreadable, Message: "the stored record cannot be read; nothing was changed", Cause: cause}
}

// Unavailable is the error for a store that did not answer. If ctx has ended,
// that is the reason instead.
func Unavailable(ctx context.Context, cause error) *Error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &Error{Reason: ReasonDeadline, Message: "the deadline passed before the store answered; repeat with the same request_id or token", Cause: cause}
	case ctx.Err() != nil:
		return &Error{Reason: ReasonCanceled, Message: "the caller went away before the store answered", Cause: cause}
	}
	return &Error{Reason: ReasonStoreUnavailable, Message: "the store could not be asked; repeat with the same request_id or token", RetryAfter: time.Second, Cause: cause}
}

// Overloaded is the error for a call that was turned away before it was sent.
func Overloaded() *Error {
	return &Error{Reason: ReasonOverloaded, Message: "too many calls wait for the store; nothing was changed", RetryAfter: time.Second}
}

// checks collects violations, so that one answer names all of them.
type checks struct{ violations []Violation }

func (c *checks) fail(field, format string, args ...any) {
	c.violations = append(c.violations, Violation{Field: field, Description: fmt.Sprintf(format, args...)})
}

func (c *checks) err() error {
	if len(c.violations) == 0 {
		return nil
	}
	return &Error{Reason: ReasonFieldInvalid, Message: "invalid argument", Violations: c.violations}
}
