package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

const (
	// streamWindow is how many operations are outstanding at once: as many as
	// the server takes from one stream.
	streamWindow = 256

	// patience is how long an answer may take before the stream counts as stuck:
	// the server gives no streamed operation more than 2 s.
	patience = 10 * time.Second
)

var errStreamClosed = status.Error(codes.Canceled, "onceward: the client is closed")

// multiplexer carries the operations of many callers over one stream at a time.
// It has goroutines only while a stream is open or an operation waits for one.
type multiplexer struct {
	rpc     oncewardv1.OncewardServiceClient
	window  chan struct{} // holds one for every operation that is queued or sent
	work    chan struct{} // holds one if the queue may have something
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	answers atomic.Uint64 // of all streams: one that gives any is a good one

	mu     sync.Mutex
	runs   bool // somebody is taking care of the queue
	closed bool
	queue  []*operation // to be sent, in this order
	sent   map[uint64]*operation
	lastID uint64             // never used twice, so that no late answer meets another call
	reset  context.CancelFunc // ends the stream there is; nil before the first
	broken error              // why there is no stream now; nil while there is one
}

func newMultiplexer(rpc oncewardv1.OncewardServiceClient) *multiplexer {
	m := &multiplexer{
		rpc:    rpc,
		window: make(chan struct{}, streamWindow),
		work:   make(chan struct{}, 1),
		sent:   map[uint64]*operation{},
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// close ends the stream. Calls under way fail with CANCELED, and so do later
// ones.
func (m *multiplexer) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.running.Wait()
}

// call does what ServiceConfig makes gRPC do for a call of its own: it repeats an
// operation that is answered with UNAVAILABLE.
func (m *multiplexer) call(ctx context.Context, encoded []byte) (*oncewardv1.OperationResult, error) {
	pause := 50 * time.Millisecond
	for try := 1; ; try++ {
		result, err := m.try(ctx, encoded)
		if err != nil {
			return nil, err
		}
		if err = operationError(result.GetError()); err == nil {
			return result, nil
		}
		if status.Code(err) != codes.Unavailable || try == maxTries {
			return nil, err
		}
		if ended := sleep(ctx, jitter(pause)); ended != nil {
			return nil, contextError(ended, err)
		}
		pause *= 2
	}
}

// try gets one answer. Its errors are those of the stream, the client and the
// context.
func (m *multiplexer) try(ctx context.Context, encoded []byte) (*oncewardv1.OperationResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, contextError(err, nil)
	}
	select {
	case m.window <- struct{}{}:
	case <-m.ctx.Done():
		return nil, errStreamClosed
	case <-ctx.Done():
		m.resetIfStuck()
		return nil, contextError(ctx.Err(), m.whyBroken())
	}
	op := &operation{encoded: encoded, done: make(chan outcome, 1)}
	m.enqueue(op)
	select {
	case out := <-op.done:
		return out.result, out.err
	case <-ctx.Done():
		m.leave(op)
		m.resetIfStuck()
		return nil, contextError(ctx.Err(), m.whyBroken())
	}
}

func (m *multiplexer) enqueue(op *operation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		m.finishLocked(op, outcome{err: errStreamClosed})
		return
	}
	m.queue = append(m.queue, op)
	select {
	case m.work <- struct{}{}:
	default:
	}
	if !m.runs {
		m.runs = true
		m.running.Go(m.run)
	}
}

// finishLocked gives a place in the window back, and the caller its answer. The
// operation is in neither the queue nor the table any more.
func (m *multiplexer) finishLocked(op *operation, out outcome) {
	op.done <- out
	<-m.window
}

// leave is the end of a caller's waiting. What is sent keeps its place: the
// server is still at it.
func (m *multiplexer) leave(op *operation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	op.gone = true
	for i, queued := range m.queue {
		if queued == op {
			m.queue = append(m.queue[:i], m.queue[i+1:]...)
			m.finishLocked(op, outcome{})
			return
		}
	}
}

// next takes the oldest operation from the queue and gives it an id. Nil: there
// is none.
func (m *multiplexer) next() *operation {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) == 0 {
		return nil
	}
	op := m.queue[0]
	m.queue = m.queue[1:]
	m.lastID++
	op.id, op.sentAt = m.lastID, time.Now()
	m.sent[op.id] = op
	return op
}

// answered passes an answer on. One that nobody asked for, or asks for any more,
// is dropped.
func (m *multiplexer) answered(r *oncewardv1.StreamResponse) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if op := m.sent[r.GetId()]; op != nil {
		delete(m.sent, r.GetId())
		m.finishLocked(op, outcome{result: r.GetResult()})
	}
}

// resetIfStuck gives a stream up whose oldest operation should have been answered
// long ago: it might never be, and the window be full for ever. It is looked at
// whenever a caller has waited in vain.
func (m *multiplexer) resetIfStuck() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, op := range m.sent {
		if time.Since(op.sentAt) > patience {
			m.reset()
			return
		}
	}
}

func (m *multiplexer) whyBroken() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.broken
}
