package client

import (
	"io"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// operationError is the error that the operation's own call would have ended
// with, for all that a stream carries of it. Nil if there is none.
func operationError(e *oncewardv1.OperationError) error {
	if e == nil {
		return nil
	}
	code := codes.Code(e.GetCode())
	if code == codes.OK { // an error all the same
		code = codes.Unknown
	}
	s := status.New(code, e.GetMessage())
	if e.GetReason() == "" {
		return s.Err()
	}
	detailed, err := s.WithDetails(&errdetails.ErrorInfo{Reason: e.GetReason(), Domain: errorDomain})
	if err != nil {
		return s.Err()
	}
	return detailed.Err()
}

// contextError is what a call of its own would return when its context ends,
// with what it waited for until then.
func contextError(ended, why error) error {
	s := status.FromContextError(ended)
	if why == nil {
		return s.Err()
	}
	return status.Errorf(s.Code(), "%s; before that: %v", s.Message(), why)
}

// ordinary reports whether a stream that ended like this has told nothing about
// the operations on it: the server stops, balances its load, or is away.
func ordinary(err error) bool {
	return err == io.EOF || status.Code(err) == codes.Unavailable
}

// final reports whether another stream would end like this one. A stream that
// cannot even be opened because of CANCELED has a connection that was closed.
func final(opened bool, err error) bool {
	if err == io.EOF {
		return false
	}
	return !transient(err) || !opened && status.Code(err) == codes.Canceled
}
