package client_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

var errFenced = errors.New("a later attempt was here")

// fencedLedger is what the effects are made in. It refuses an attempt that comes
// after a later one, as the documentation asks of it.
type fencedLedger struct {
	mu     sync.Mutex
	latest map[change]int64   // the largest fencing token seen
	tokens map[change][]int64 // of the attempts that made the effect
}

func newFencedLedger() *fencedLedger {
	return &fencedLedger{latest: map[change]int64{}, tokens: map[change][]int64{}}
}

// act makes the effect; with look it first looks whether it is there already.
func (l *fencedLedger) act(c change, token int64, look bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if token < l.latest[c] {
		return errFenced
	}
	l.latest[c] = token
	if look && len(l.tokens[c]) > 0 {
		return nil
	}
	l.tokens[c] = append(l.tokens[c], token)
	return nil
}

func (l *fencedLedger) done(c change) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.tokens[c]) > 0
}

// check wants each effect once: exactly, where no event may be skipped.
func (l *fencedLedger) check(t *testing.T) {
	t.Helper()
	for _, last := range lastChanges() {
		for n := uint64(1); n <= last.n; n++ {
			c := change{last.namespace, last.entity, n}
			tokens := l.tokens[c]
			if len(tokens) > 1 || len(tokens) == 0 && (c.namespace == "held" || n == last.n) {
				t.Errorf("event %d of %s took effect %d times, under the tokens %v", n, c.entity, len(tokens), tokens)
			}
		}
	}
}

// shuffledQueue hands out deliveries, of one entity roughly in their order, and
// takes back those that were not acknowledged.
type shuffledQueue struct {
	mu      sync.Mutex
	pending map[string][]change
	open    int // handed out or waiting
}

func newShuffledQueue() *shuffledQueue {
	q := &shuffledQueue{pending: map[string][]change{}}
	for i, last := range lastChanges() {
		for n := uint64(1); n <= last.n; n++ {
			q.put(change{last.namespace, last.entity, n})
			if (int(n)+i)%10 == 0 { // delivered twice
				q.put(change{last.namespace, last.entity, n})
			}
		}
	}
	for _, waiting := range q.pending {
		q.open += len(waiting)
	}
	return q
}

func (q *shuffledQueue) put(c change) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending[c.entity] = append(q.pending[c.entity], c)
}

// back gives a delivery back, to be made again soon.
func (q *shuffledQueue) back(c change) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending[c.entity] = append([]change{c}, q.pending[c.entity]...)
}

func (q *shuffledQueue) acknowledge() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open--
}

// take gives one of the next few deliveries of some entity. more is false once
// everything is acknowledged; ok, if nothing waits at the moment.
func (q *shuffledQueue) take(random *rand.Rand) (c change, ok, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	entity := fmt.Sprintf("entity-%d", random.IntN(crashEntities))
	waiting := q.pending[entity]
	if len(waiting) == 0 {
		return change{}, false, q.open > 0
	}
	i := random.IntN(min(4, len(waiting)))
	c = waiting[i]
	q.pending[entity] = append(waiting[:i:i], waiting[i+1:]...)
	return c, true, true
}

// tally counts by name.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func newTally() *tally { return &tally{counts: map[string]int{}} }

func (c *tally) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[name]++
}

func (c *tally) count(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[name]
}
