package onceward

import (
	"context"
	"sync"
	"time"
)

const (
	maxWaiters = 4096 // per process; the next one is told IN_PROGRESS at once

	firstPoll = 20 * time.Millisecond
	slowPoll  = 250 * time.Millisecond

	// answerMargin is what is kept of the caller's own deadline to answer
	// IN_PROGRESS instead of nothing.
	answerMargin = 100 * time.Millisecond
)

// wait asks again until the holder has finished or the wait is over. It is woken
// by what this process settles; for the holders of other processes it polls, at
// growing intervals, so that a waiter costs the store at most four calls a
// second.
func (s *Service) wait(ctx context.Context, q *CheckAndClaimRequest, v ClaimVerdict) (ClaimVerdict, error) {
	until := time.Now().Add(q.Wait.Value)
	if deadline, ok := ctx.Deadline(); ok && deadline.Add(-answerMargin).Before(until) {
		until = deadline.Add(-answerMargin)
	}
	settled, leave := s.waiting.enter(q.ClaimID)
	if settled == nil {
		return v, nil
	}
	defer leave()
	q.Again = true
	for poll := firstPoll; ; poll = min(poll*3/2, slowPoll) {
		left := time.Until(until)
		if left <= 0 {
			return v, nil
		}
		timer := time.NewTimer(min(left, poll, v.RetryAfter))
		select {
		case <-timer.C:
		case <-settled:
			settled = s.waiting.next(q.ClaimID)
		case <-s.waiting.closed:
			return v, nil
		case <-ctx.Done():
			return ClaimVerdict{}, Unavailable(ctx, ctx.Err())
		}
		timer.Stop()
		var err error
		if v, err = s.store.CheckAndClaim(ctx, q); err != nil || v.Outcome != StillInProgress {
			return v, err
		}
	}
}

// waitingRoom tells the waiters of a claim when this process settles it.
type waitingRoom struct {
	closed    chan struct{}
	closeOnce sync.Once

	mu     sync.Mutex
	total  int
	claims map[ClaimID]*bell
}

// bell wakes the waiters of one claim.
type bell struct {
	rung    chan struct{}
	waiters int
}

func newWaitingRoom() *waitingRoom {
	return &waitingRoom{closed: make(chan struct{}), claims: map[ClaimID]*bell{}}
}

func (w *waitingRoom) close() { w.closeOnce.Do(func() { close(w.closed) }) }

// enter gives the channel that is closed when the claim is settled, or nil when
// the room is full.
func (w *waitingRoom) enter(id ClaimID) (settled <-chan struct{}, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.total >= maxWaiters {
		return nil, nil
	}
	w.total++
	b := w.claims[id]
	if b == nil {
		b = &bell{rung: make(chan struct{})}
		w.claims[id] = b
	}
	b.waiters++
	return b.rung, func() { w.leave(id) }
}

func (w *waitingRoom) leave(id ClaimID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total--
	b := w.claims[id]
	if b.waiters--; b.waiters == 0 {
		delete(w.claims, id)
	}
}

// next gives the channel for the next time.
func (w *waitingRoom) next(id ClaimID) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.claims[id].rung
}

func (w *waitingRoom) wake(id ClaimID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b := w.claims[id]; b != nil {
		close(b.rung)
		b.rung = make(chan struct{})
	}
}
