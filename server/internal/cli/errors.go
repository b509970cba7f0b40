package cli

import (
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// meanings are the codes in words. For the others the message has to do.
var meanings = map[codes.Code]string{
	codes.InvalidArgument:    "the request is not valid",
	codes.NotFound:           "there is no such thing",
	codes.FailedPrecondition: "not possible as things stand",
	codes.PermissionDenied:   "you are not allowed to do this",
	codes.Unauthenticated:    "the service does not know who you are",
	codes.Unavailable:        "the service or its store cannot be reached",
	codes.DeadlineExceeded:   "no answer in time; a change may or may not have been made",
	codes.Canceled:           "interrupted; a change may or may not have been made",
	codes.ResourceExhausted:  "the store is full or the message is too large",
	codes.DataLoss:           "what is stored cannot be read",
	codes.Unimplemented:      "the service does not know this call; is it older than this command?",
	codes.Internal:           "the service failed",
	codes.Unknown:            "the service failed",
}

// describe puts an error in words. One from the service is one line, with its
// code, what the code means, the message, the reason and every field.
func describe(err error) string {
	st, ok := status.FromError(err)
	if !ok {
		return lines(err.Error())
	}
	text := code.Code(st.Code()).String()
	if meaning := meanings[st.Code()]; meaning != "" {
		text += ", " + meaning
	}
	return oneLine(text + ": " + st.Message() + details(st))
}

// details adds what a message does not say itself.
func details(st *status.Status) string {
	var b strings.Builder
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			fmt.Fprintf(&b, " [%s]", d.GetReason())
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				if field := v.GetField() + ": " + v.GetDescription(); !strings.Contains(st.Message(), field) {
					fmt.Fprintf(&b, "; %s", field)
				}
			}
		case *errdetails.RetryInfo:
			fmt.Fprintf(&b, "; try again after %s", d.GetRetryDelay().AsDuration())
		}
	}
	return b.String()
}
