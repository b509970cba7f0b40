package memstore

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/onceward/onceward/server/internal/onceward"
)

// ListClaims implements onceward.Store.
func (s *Store) ListClaims(_ context.Context, q *onceward.ListClaimsRequest) (page onceward.ClaimsPage, _ error) {
	found := map[onceward.Position]onceward.Claim{}
	s.eachOpen(func(at onceward.RecordID, c onceward.Claim) {
		if c.Namespace == q.Namespace && c.State == q.State {
			found[onceward.Position(at)] = c
		}
	})
	page.Claims, page.Next = pageOf(found, &q.Page)
	return page, nil
}

// ListEntities implements onceward.Store.
func (s *Store) ListEntities(_ context.Context, q *onceward.ListEntitiesRequest) (page onceward.EntitiesPage, _ error) {
	found := map[onceward.Position]onceward.ListedEntity{}
	s.eachFlagged(func(at onceward.RecordID, e onceward.ListedEntity) {
		if e.Namespace == q.Namespace {
			found[onceward.Position(at)] = e
		}
	})
	page.Entities, page.Next = pageOf(found, &q.Page)
	return page, nil
}

// pageOf takes one page out of all that was found.
func pageOf[T any](found map[onceward.Position]T, p *onceward.Page) (out []T, next string) {
	var places []onceward.Position
	for at := range found {
		if p.Token == "" || p.After.Before(at) {
			places = append(places, at)
		}
	}
	slices.SortFunc(places, func(a, b onceward.Position) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Name, b.Name))
	})
	if len(places) > p.Size {
		places = places[:p.Size]
		next = places[p.Size-1].Token()
	}
	for _, at := range places {
		out = append(out, found[at])
	}
	return out, next
}

// ListDecisions implements onceward.Store. An instant is given out once, so it
// is an entry's place.
func (s *Store) ListDecisions(_ context.Context, q *onceward.ListDecisionsRequest) (page onceward.DecisionsPage, _ error) {
	var found []onceward.Decision
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		for _, d := range sh.log {
			if q.Wants(&d) && (q.Token == "" || strconv.FormatInt(d.At.UnixMicro(), 10) < q.After.Name) {
				found = append(found, d)
			}
		}
		sh.mu.Unlock()
	}
	slices.SortFunc(found, func(a, b onceward.Decision) int { return b.At.Compare(a.At) })
	if len(found) > q.Size {
		found = found[:q.Size]
		last := strconv.FormatInt(found[q.Size-1].At.UnixMicro(), 10)
		page.Next = onceward.Position{Name: last}.Token()
	}
	page.Decisions = found
	return page, nil
}

// Overview implements onceward.Store.
func (s *Store) Overview(_ context.Context, namespace string) (*onceward.Overview, error) {
	o := onceward.NewOverview("embedded", "nothing survives this process: the store is embedded in it")
	s.eachOpen(func(_ onceward.RecordID, c onceward.Claim) {
		if namespace == "" || c.Namespace == namespace {
			o.AddClaim(&c)
		}
	})
	s.eachFlagged(func(_ onceward.RecordID, e onceward.ListedEntity) {
		if namespace == "" || e.Namespace == namespace {
			o.AddEntity(&e)
		}
	})
	return o, nil
}

func (s *Store) eachOpen(f func(onceward.RecordID, onceward.Claim)) {
	s.eachShard(func(sh *shard, now time.Time) {
		for at, id := range sh.open {
			if r := sh.record(at, now); r.State != onceward.Absent {
				f(at, r.View(id, now))
			}
		}
	})
}

func (s *Store) eachFlagged(f func(onceward.RecordID, onceward.ListedEntity)) {
	s.eachShard(func(sh *shard, now time.Time) {
		for at, id := range sh.flagged {
			if e := sh.entity(at, now); e.Open != 0 {
				f(at, onceward.ListedEntity{EntityID: id, Entity: e})
			}
		}
	})
}

func (s *Store) eachShard(f func(sh *shard, now time.Time)) {
	now := s.clock()
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		f(sh, now)
		sh.mu.Unlock()
	}
}
