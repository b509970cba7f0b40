package rpc

import (
	"context"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// streamWindow is how many operations of one stream are in flight: results that
// the client does not take count too, so that neither side queues without bound.
const streamWindow = 256

// streamAge is how long a stream lives, plus up to a tenth: its connection is
// closed at some age, and must find no stream that it would cut.
const streamAge = 10 * time.Minute

// Stream implements the RPC of that name. When the service drains, or the stream
// is old, it reads no further, answers what is in flight and ends with
// UNAVAILABLE, so that the client reconnects, maybe elsewhere.
func (o *Onceward) Stream(s oncewardv1.OncewardService_StreamServer) error {
	w := &streamWriter{stream: s}
	requests, readErr := receive(s)
	window := make(chan struct{}, streamWindow)
	old := time.NewTimer(streamAge + rand.N(streamAge/10))
	defer old.Stop()
	var inFlight sync.WaitGroup
	defer inFlight.Wait()
	for {
		select {
		case window <- struct{}{}:
		case <-s.Context().Done():
			return goneAway(s)
		}
		select {
		case in, open := <-requests:
			if !open {
				inFlight.Wait()
				if err := w.failed(); err != nil {
					return err
				}
				return <-readErr
			}
			inFlight.Go(func() {
				op := in.GetOperation() // a stream has no deadline of its own
				ctx, cancel := context.WithTimeout(s.Context(), ownDeadline+op.GetCheckAndClaim().GetWait().AsDuration())
				defer cancel()
				w.send(&oncewardv1.StreamResponse{Id: in.GetId(), Result: o.operate(ctx, op)})
				<-window
			})
		case <-o.service.Draining():
			inFlight.Wait()
			return status.Error(codes.Unavailable, "the server is stopping: reconnect")
		case <-old.C:
			inFlight.Wait()
			return status.Error(codes.Unavailable, "the stream is old: reconnect")
		case <-s.Context().Done():
			return goneAway(s)
		}
	}
}

// goneAway is the error of a stream whose client has left.
func goneAway(s oncewardv1.OncewardService_StreamServer) error {
	return status.FromContextError(s.Context().Err()).Err()
}

// receive reads requests until the client closes its side, which is no error, or
// the stream breaks.
func receive(s oncewardv1.OncewardService_StreamServer) (<-chan *oncewardv1.StreamRequest, <-chan error) {
	requests, failed := make(chan *oncewardv1.StreamRequest), make(chan error, 1)
	go func() {
		defer close(requests)
		for {
			in, err := s.Recv()
			if err != nil {
				if err == io.EOF {
					err = nil
				}
				failed <- err
				return
			}
			select {
			case requests <- in:
			case <-s.Context().Done():
				failed <- goneAway(s)
				return
			}
		}
	}()
	return requests, failed
}

// streamWriter lets many operations answer on one stream. After the first send
// that failed it drops the rest: the stream is broken.
type streamWriter struct {
	mu     sync.Mutex
	stream oncewardv1.OncewardService_StreamServer
	err    error
}

func (w *streamWriter) send(r *oncewardv1.StreamResponse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.stream.Send(r)
	}
}

func (w *streamWriter) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
