package main

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// persist repeats a call, with the same request_id or token, that a busy
// machine did not carry out in time.
func persist(call func() error) (err error) {
	for range 20 {
		err = call()
		if c := status.Code(err); c != codes.Unavailable && c != codes.DeadlineExceeded {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}
