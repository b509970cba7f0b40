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

// shard holds whole partitions: an ordered claim and its entity are in one.
type shard struct {
	mu       sync.Mutex
	records  map[onceward.RecordID]*onceward.Record
	entities map[onceward.RecordID]*onceward.Entity

	open    map[onceward.RecordID]onceward.ClaimID  // names of the claims that lists show
	flagged map[onceward.RecordID]onceward.EntityID // and of the entities
	log     []onceward.Decision                     // oldest first
}

// New returns an empty store that reads the time from clock: time.Now, or a
// test's own.
func New(clock func() time.Time) *Store {
	s := &Store{clock: clock, stop: make(chan struct{}), done: make(chan struct{})}
	for i := range s.shards {
		s.shards[i] = shard{
			records:  map[onceward.RecordID]*onceward.Record{},
			entities: map[onceward.RecordID]*onceward.Entity{},
			open:     map[onceward.RecordID]onceward.ClaimID{},
			flagged:  map[onceward.RecordID]onceward.EntityID{},
		}
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
		n += len(sh.records) + len(sh.entities)
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

// decide runs one decision on what is stored for a claim, and stores what
// follows. f may write to the log of the shard that it is given.
func (s *Store) decide(ctx context.Context, id onceward.ClaimID, p *onceward.Policy, f func(sh *shard, slot onceward.Slot, now time.Time) (onceward.Slot, error)) error {
	claim := id.Record()
	sh, now, unlock, err := s.enter(ctx, claim)
	if err != nil {
		return err
	}
	defer unlock()
	slot := onceward.Slot{Claim: sh.record(claim, now)}
	if id.Entity != "" {
		slot.Entity = sh.entity(id.EntityOf().Record(), now)
	}
	next, err := f(sh, slot, now)
	if err != nil {
		return err
	}
	sh.putRecord(claim, id, p, next.Claim)
	if id.Entity != "" {
		sh.putEntity(id.EntityOf(), p, next.Entity)
	}
	return nil
}

// decideEntity runs one decision on an entity alone.
func (s *Store) decideEntity(ctx context.Context, id onceward.EntityID, p *onceward.Policy, f func(sh *shard, e onceward.Entity, now time.Time) (onceward.Entity, error)) error {
	entity := id.Record()
	sh, now, unlock, err := s.enter(ctx, entity)
	if err != nil {
		return err
	}
	defer unlock()
	next, err := f(sh, sh.entity(entity, now), now)
	if err == nil {
		sh.putEntity(id, p, next)
	}
	return err
}

// enter locks the shard of a partition and reads the clock.
func (s *Store) enter(ctx context.Context, id onceward.RecordID) (sh *shard, now time.Time, unlock func(), err error) {
	if ctx.Err() != nil {
		return nil, now, nil, onceward.Unavailable(ctx, ctx.Err())
	}
	sh = &s.shards[id.Partition%shards]
	sh.mu.Lock()
	return sh, s.now(), sh.mu.Unlock, nil
}

func (sh *shard) record(id onceward.RecordID, now time.Time) onceward.Record {
	if r := sh.records[id]; r != nil && r.ExpiresAt.After(now) {
		return *r
	}
	return onceward.Record{}
}

// entity is what is remembered. A claim's hold on it has a life of its own.
func (sh *shard) entity(id onceward.RecordID, now time.Time) onceward.Entity {
	e := sh.entities[id]
	switch {
	case e == nil:
		return onceward.Entity{}
	case e.Known() && gone(e, now):
		return onceward.DecideForgetEntity(*e)
	}
	return *e
}

func gone(e *onceward.Entity, now time.Time) bool {
	return !e.ExpiresAt.IsZero() && !e.ExpiresAt.After(now)
}

func (sh *shard) putRecord(at onceward.RecordID, id onceward.ClaimID, p *onceward.Policy, r onceward.Record) {
	if r.State == onceward.Absent {
		return
	}
	sh.records[at] = &r
	if r.State == onceward.InProgress || r.State == onceward.Parked {
		id.Key, id.Entity = p.Readable(id.Key), p.Readable(id.Entity)
		sh.open[at] = id
	} else {
		delete(sh.open, at)
	}
}

func (sh *shard) putEntity(id onceward.EntityID, p *onceward.Policy, e onceward.Entity) {
	at := id.Record()
	if e.Open != 0 {
		id.Entity = p.Readable(id.Entity)
		sh.flagged[at] = id
	} else {
		delete(sh.flagged, at)
	}
	if !e.Known() && e.Holder == "" {
		delete(sh.entities, at)
		return
	}
	sh.entities[at] = &e
}

// logLength is how many decisions a shard keeps.
const logLength = 4000

func (sh *shard) write(d onceward.Decision, wanted bool) {
	if !wanted {
		return
	}
	if len(sh.log) >= logLength {
		sh.log = append(sh.log[:0], sh.log[logLength/4:]...)
	}
	sh.log = append(sh.log, d)
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
			delete(sh.open, id)
		} else if r.Result != nil && !r.Result.Until.After(now) {
			r.Result.Type, r.Result.Body = "", nil
		}
	}
	for id, e := range sh.entities {
		if (!e.Known() || gone(e, now)) && !e.HeldUntil.After(now) {
			delete(sh.entities, id)
			delete(sh.flagged, id)
		}
	}
}
