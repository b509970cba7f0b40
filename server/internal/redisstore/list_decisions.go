package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/onceward/onceward/server/internal/onceward"
)

// entryID is an entry's place in its stream: milliseconds and a counter.
type entryID struct{ ms, seq uint64 }

func parseEntryID(s string) (id entryID, err error) {
	ms, seq, ok := strings.Cut(s, "-")
	if id.ms, err = strconv.ParseUint(ms, 10, 64); err == nil && ok {
		id.seq, err = strconv.ParseUint(seq, 10, 64)
	}
	if err != nil || !ok {
		return entryID{}, onceward.Invalid("page_token", "is none that this service gave")
	}
	return id, nil
}

func (id entryID) String() string { return fmt.Sprintf("%d-%d", id.ms, id.seq) }

func (id entryID) compare(other entryID) int {
	return cmp.Or(cmp.Compare(id.ms, other.ms), cmp.Compare(id.seq, other.seq))
}

// entry is a decision at its place in the log of all partitions: newest first,
// and of one instant the lower partition first.
type entry struct {
	id        entryID
	partition int
	decision  onceward.Decision
}

func newestFirst(a, b entry) int {
	return cmp.Or(-a.id.compare(b.id), cmp.Compare(a.partition, b.partition))
}

// perPartition is how many entries one look takes from each partition.
const perPartition = 200

// ListDecisions implements onceward.Store. It takes the newest entries of each
// partition; older than the horizon, where some partition has more to give, none
// is shown yet.
func (s *Store) ListDecisions(ctx context.Context, q *onceward.ListDecisionsRequest) (page onceward.DecisionsPage, err error) {
	first, last := 0, onceward.Partitions-1
	if p := q.Partition(); p >= 0 {
		first, last = p, p
	}
	after := entry{id: entryID{1<<64 - 1, 1<<64 - 1}}
	if q.Token != "" {
		if after.id, err = parseEntryID(q.After.Name); err != nil {
			return page, err
		}
		after.partition = q.After.Partition
	}
	entries, horizon, err := s.readLogs(ctx, first, last, after, q.Token != "")
	if err != nil {
		return page, err
	}
	for _, e := range entries {
		if horizon != nil && newestFirst(e, *horizon) > 0 {
			break
		}
		if q.Wants(&e.decision) {
			page.Decisions = append(page.Decisions, e.decision)
			if len(page.Decisions) == q.Size {
				page.Next = onceward.Position{Partition: e.partition, Name: e.id.String()}.Token()
				return page, nil
			}
		}
	}
	if horizon != nil {
		page.Next = onceward.Position{Partition: horizon.partition, Name: horizon.id.String()}.Token()
	}
	return page, nil
}

// readLogs reads the newest entries after a place, of some partitions. horizon is
// the last entry that may be shown, nil if there are no others.
func (s *Store) readLogs(ctx context.Context, first, last int, after entry, exclusive bool) (out []entry, horizon *entry, err error) {
	for from := first; from <= last; from += partitionsAtOnce {
		to := min(from+partitionsAtOnce-1, last)
		logs, err := s.readStreams(ctx, from, to, after.id)
		if err != nil {
			return nil, nil, err
		}
		for i, log := range logs {
			for j, m := range log {
				e, err := decodeEntry(m, from+i)
				if err != nil {
					return nil, nil, onceward.Unreadable(err)
				}
				if exclusive && newestFirst(e, after) <= 0 {
					continue
				}
				out = append(out, e)
				if j == perPartition-1 && (horizon == nil || newestFirst(e, *horizon) < 0) {
					horizon = &e
				}
			}
		}
	}
	slices.SortFunc(out, newestFirst)
	return out, horizon, nil
}

func (s *Store) readStreams(ctx context.Context, from, to int, newest entryID) ([][]redis.XMessage, error) {
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pipe := s.client.Pipeline()
	var cmds []*redis.XMessageSliceCmd
	for p := from; p <= to; p++ {
		cmds = append(cmds, pipe.XRevRangeN(bounded, s.keys.of[p].log, newest.String(), "-", perPartition))
	}
	if _, err := pipe.Exec(bounded); err != nil {
		return nil, failure(ctx, "list_decisions", err)
	}
	out := make([][]redis.XMessage, len(cmds))
	for i, cmd := range cmds {
		out[i] = cmd.Val()
	}
	return out, nil
}

func decodeEntry(m redis.XMessage, partition int) (entry, error) {
	field := func(name string) string { s, _ := m.Values[name].(string); return s }
	id, err := parseEntryID(m.ID)
	if err != nil {
		return entry{}, err
	}
	version, err := onceward.DecodeVersion(field("version"))
	if err != nil {
		return entry{}, err
	}
	attempt, err := strconv.ParseInt(field("attempt"), 10, 32)
	if err != nil {
		return entry{}, fmt.Errorf("decision log: %w", err)
	}
	return entry{id: id, partition: partition, decision: onceward.Decision{
		At:        time.UnixMilli(int64(id.ms)),
		RPC:       field("rpc"),
		Outcome:   field("outcome"),
		Namespace: field("namespace"),
		Consumer:  field("consumer"),
		Subject:   field("subject"),
		Entity:    field("entity"),
		Version:   version,
		EventID:   field("event"),
		Attempt:   int32(attempt),
		Owner:     field("owner"),
		Actor:     field("actor"),
		Reason:    field("reason"),
	}}, nil
}
