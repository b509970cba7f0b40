package client

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

const (
	minReopen = 50 * time.Millisecond
	maxReopen = 2 * time.Second

	// maxTries is how often an operation is sent that is answered with
	// UNAVAILABLE, or under which streams break for no known reason. It is that
	// of ServiceConfig.
	maxTries = 5
)

// run opens one stream after the other until nobody waits for an answer.
func (m *multiplexer) run() {
	pause := minReopen
	for {
		before := m.answers.Load()
		opened, err := m.serve()
		if m.answers.Load() != before {
			pause = minReopen
		}
		if !m.goesOn(opened, err) {
			return
		}
		sleep(m.ctx, jitter(pause))
		pause = min(2*pause, maxReopen)
	}
}

// serve opens a stream and works with it until it ends, and returns how it did.
func (m *multiplexer) serve() (opened bool, err error) {
	ctx, cancel := context.WithCancel(m.ctx)
	defer cancel()
	// gRPC is to keep no copies for repeats of its own: they are made here, and
	// only of what somebody still waits for.
	stream, err := m.rpc.Stream(ctx, grpc.MaxRetryRPCBufferSize(0))
	if err != nil {
		return false, err
	}
	m.open(cancel)
	ended := make(chan error, 1)
	go func() {
		ended <- m.receive(stream)
		cancel()
	}()
	if m.send(ctx, stream) != io.EOF { // then the receiver learns why
		cancel()
	}
	return true, <-ended
}

func (m *multiplexer) open(cancel context.CancelFunc) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reset, m.broken = cancel, nil
}

// send writes what is in the queue. gRPC puts into one packet what is written
// while the last one is on its way.
func (m *multiplexer) send(ctx context.Context, stream oncewardv1.OncewardService_StreamClient) error {
	for {
		for op := m.next(); op != nil; op = m.next() {
			if err := stream.Send(op.request()); err != nil {
				return err
			}
		}
		select {
		case <-m.work:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *multiplexer) receive(stream oncewardv1.OncewardService_StreamClient) error {
	for {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		m.answers.Add(1)
		m.answered(r)
	}
}

// goesOn takes in the end of a stream, or that none could be opened, and reports
// whether there is a reason to open another.
func (m *multiplexer) goesOn(opened bool, err error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = err
	m.requeueLocked(err)
	switch {
	case m.closed:
		m.failLocked(errStreamClosed)
	case final(opened, err):
		m.failLocked(err)
	}
	m.runs = len(m.queue) > 0
	return m.runs
}

// requeueLocked puts what was sent and is still waited for back at the head of
// the queue.
func (m *multiplexer) requeueLocked(err error) {
	unanswered := slices.SortedFunc(maps.Values(m.sent), func(a, b *operation) int { return cmp.Compare(a.id, b.id) })
	clear(m.sent)
	var again []*operation
	for _, op := range unanswered {
		op.id = 0
		if !ordinary(err) {
			op.breaks++
		}
		if op.gone || op.breaks == maxTries {
			m.finishLocked(op, outcome{err: err})
			continue
		}
		again = append(again, op)
	}
	m.queue = append(again, m.queue...)
}

func (m *multiplexer) failLocked(err error) {
	for _, op := range m.queue {
		m.finishLocked(op, outcome{err: err})
	}
	m.queue = nil
}
