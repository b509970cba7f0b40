// Package memstore is the embedded store: the domain's decisions over this
// process's memory. It is for trying Onceward out and for fast tests; nothing
// survives the process and no second process sees it.
package memstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward/server/internal/onceward"
)

const (
	shards = 256

	// sweepEvery is how often one shard is rid of what has run out, so that a
	// record outlives its end by at most about five seconds.
	sweepEvery = 20 * time.Millisecond
)

// Store is an onceward.Store in memory. Close it to end its sweeper.
type Store struct {
	clock  func() time.Time
	last   atomic.Int64 // the last instant given out, in microseconds
	shards [shards]shard
	stop   chan struct{}
	done   chan struct{}
}

type shard struct {
	mu      sync.Mutex
	records map[onceward.RecordID]*onceward.Record
}

// New returns an empty store that reads the time from clock: time.Now, or a
// test's own.
func New(clock func() time.Time) *Store {
	s := &Store{clock: clock, stop: make(chan struct{}), done: make(chan struct{})}
	for i := range s.shards {
		s.shards[i].records = map[onceward.RecordID]*onceward.Record{}
	}
	go s.sweep()
	return s
}

// Close ends the sweeper.
func (s *Store) Close() error {
	close(s.stop)
	<-s.done
	return nil
}

// Len is how many records are held, those included that ran out and have not
// been swept.
func (s *Store) Len() int {
	n := 0
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		n += len(sh.records)
		sh.mu.Unlock()
	}
	return n
}

// now never gives out one microsecond twice, so that the tokens of two keys
// differ as well as those of one.
func (s *Store) now() time.Time {
	for {
		last := s.last.Load()
		now := max(s.clock().UnixMicro(), last+1)
		if s.last.CompareAndSwap(last, now) {
			return time.UnixMicro(now)
		}
	}
}

// decide runs one decision on the live record of id and stores what follows.
func (s *Store) decide(ctx context.Context, id onceward.ClaimID, f func(r onceward.Record, now time.Time) (onceward.Record, error)) error {
	if ctx.Err() != nil {
		return onceward.Unavailable(ctx, ctx.Err())
	}
	rid := id.Record()
	sh := &s.shards[rid.Partition%shards]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.now()
	var r onceward.Record
	if stored := sh.records[rid]; stored != nil && stored.ExpiresAt.After(now) {
		r = *stored
	}
	next, err := f(r, now)
	if err == nil && next.State != onceward.Absent {
		sh.records[rid] = &next
	}
	return err
}

func (s *Store) sweep() {
	defer close(s.done)
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for i := 0; ; i = (i + 1) % shards {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.sweepShard(&s.shards[i])
		}
	}
}

func (s *Store) sweepShard(sh *shard) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.clock()
	for id, r := range sh.records {
		if !r.ExpiresAt.After(now) {
			delete(sh.records, id)
		} else if r.Result != nil && !r.Result.Until.After(now) {
			r.Result.Type, r.Result.Body = "", nil
		}
	}
}
