package redisstore

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/onceward/onceward/server/internal/onceward"
)

const (
	// partitionsAtOnce is how many indexes one round trip reads.
	partitionsAtOnce = 128

	// scanAtMost bounds the records that one page looks at: a page in which few
	// belong to the namespace is short.
	scanAtMost = 5000
)

// ListClaims implements onceward.Store.
func (s *Store) ListClaims(ctx context.Context, q *onceward.ListClaimsRequest) (page onceward.ClaimsPage, err error) {
	index := "progress"
	if q.State == onceward.Parked {
		index = "parked"
	}
	page.Next, err = s.scan(ctx, index, &q.Page, func(ctx context.Context, at []onceward.Position) (full int, err error) {
		claims, err := s.readClaims(ctx, at)
		for i, c := range claims {
			if c.Namespace == q.Namespace && c.State == q.State {
				if page.Claims = append(page.Claims, c); len(page.Claims) == q.Size {
					return i + 1, err
				}
			}
		}
		return 0, err
	})
	return page, err
}

// ListEntities implements onceward.Store.
func (s *Store) ListEntities(ctx context.Context, q *onceward.ListEntitiesRequest) (page onceward.EntitiesPage, err error) {
	page.Next, err = s.scan(ctx, "flagged", &q.Page, func(ctx context.Context, at []onceward.Position) (full int, err error) {
		entities, err := s.readEntities(ctx, at)
		for i, e := range entities {
			if e.Namespace == q.Namespace && e.Open != 0 {
				if page.Entities = append(page.Entities, e); len(page.Entities) == q.Size {
					return i + 1, err
				}
			}
		}
		return 0, err
	})
	return page, err
}

// scan goes through an index, partition by partition and name by name, and hands
// the members to read, which tells how many it had used when its page was full,
// or 0. next is the token of the page that follows.
func (s *Store) scan(ctx context.Context, index string, p *onceward.Page, read func(context.Context, []onceward.Position) (full int, err error)) (next string, err error) {
	looked := 0
	for from := p.After.Partition; from < onceward.Partitions; from += partitionsAtOnce {
		members, err := s.members(ctx, index, from, min(from+partitionsAtOnce, onceward.Partitions))
		if err != nil {
			return "", err
		}
		if p.Token != "" {
			members = slices.DeleteFunc(members, func(at onceward.Position) bool { return !p.After.Before(at) })
		}
		for chunk := range slices.Chunk(members, p.Size) {
			full, err := read(ctx, chunk)
			if err != nil {
				return "", err
			}
			if full > 0 {
				return chunk[full-1].Token(), nil
			}
			if looked += len(chunk); looked >= scanAtMost {
				return chunk[len(chunk)-1].Token(), nil
			}
		}
	}
	return "", nil
}

// members lists an index's members in the partitions from, up to and without to.
func (s *Store) members(ctx context.Context, index string, from, to int) (out []onceward.Position, err error) {
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pipe := s.client.Pipeline()
	cmds := make([]*redis.StringSliceCmd, 0, to-from)
	for p := from; p < to; p++ {
		cmds = append(cmds, pipe.ZRange(bounded, s.keys.of[p].prefix+index, 0, -1))
	}
	if _, err := pipe.Exec(bounded); err != nil {
		return nil, failure(ctx, "list "+index, err)
	}
	for i, cmd := range cmds {
		names := cmd.Val()
		slices.Sort(names)
		for _, name := range names {
			out = append(out, onceward.Position{Partition: from + i, Name: name})
		}
	}
	return out, nil
}

func (s *Store) readClaims(ctx context.Context, at []onceward.Position) ([]onceward.Claim, error) {
	var calls []call
	for _, a := range at {
		p := s.keys.of[a.Partition].prefix
		calls = append(calls, call{script: getClaim, keys: []string{p + "c" + a.Name, p + "r" + a.Name}})
	}
	out := make([]onceward.Claim, len(at))
	return out, s.runAll(ctx, calls, func(i int, r *reply) { out[i] = r.claim() })
}

func (s *Store) readEntities(ctx context.Context, at []onceward.Position) ([]onceward.ListedEntity, error) {
	var calls []call
	for _, a := range at {
		calls = append(calls, call{script: getEntity, keys: []string{s.keys.of[a.Partition].prefix + "e" + a.Name}})
	}
	out := make([]onceward.ListedEntity, len(at))
	return out, s.runAll(ctx, calls, func(i int, r *reply) {
		e := r.entity()
		out[i] = onceward.ListedEntity{EntityID: e.EntityID, Entity: e.Entity}
	})
}

// runAll makes many calls, in one round trip to each node, and hands over the
// replies. A record that cannot be read is left out: it must not hide the others;
// whoever asks for it by name is told.
func (s *Store) runAll(ctx context.Context, calls []call, got func(i int, r *reply)) error {
	flights := make([]*flight, len(calls))
	for i, c := range calls {
		flights[i] = s.start(ctx, c, 0)
	}
	for i, f := range flights {
		r, err := s.wait(ctx, f)
		if err == nil {
			got(i, &r)
			err = r.end()
		}
		if err != nil && !unreadableRecord(err) {
			return err
		}
	}
	return nil
}

func unreadableRecord(err error) bool {
	var e *onceward.Error
	return errors.As(err, &e) && e.Reason == onceward.ReasonRecordUnreadable
}

// Overview implements onceward.Store.
func (s *Store) Overview(ctx context.Context, namespace string) (*onceward.Overview, error) {
	name, err := s.Describe(ctx)
	if err != nil {
		return nil, failure(ctx, "overview", err)
	}
	o := onceward.NewOverview(name)
	policy, err := s.EvictionPolicy(ctx)
	if err == nil && policy != "noeviction" {
		o.Warnings = append(o.Warnings, "the store may evict records: its maxmemory-policy is "+policy)
	}
	wanted := func(n string) bool { return n != "" && (namespace == "" || n == namespace) }
	for _, index := range []string{"progress", "parked"} {
		err := s.scanAll(ctx, index, func(ctx context.Context, at []onceward.Position) error {
			claims, err := s.readClaims(ctx, at)
			for _, c := range claims {
				if wanted(c.Namespace) {
					o.AddClaim(&c)
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return o, s.scanAll(ctx, "flagged", func(ctx context.Context, at []onceward.Position) error {
		entities, err := s.readEntities(ctx, at)
		for _, e := range entities {
			if wanted(e.Namespace) {
				o.AddEntity(&e)
			}
		}
		return err
	})
}

// scanAll goes through a whole index.
func (s *Store) scanAll(ctx context.Context, index string, read func(context.Context, []onceward.Position) error) error {
	for from := 0; from < onceward.Partitions; from += partitionsAtOnce {
		members, err := s.members(ctx, index, from, min(from+partitionsAtOnce, onceward.Partitions))
		if err != nil {
			return err
		}
		for chunk := range slices.Chunk(members, 500) {
			if err := read(ctx, chunk); err != nil {
				return err
			}
		}
	}
	return nil
}
