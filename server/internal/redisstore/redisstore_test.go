package redisstore_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/onceward/onceward/server/internal/onceward"
	"github.com/onceward/onceward/server/internal/onceward/oncewardtest"
	"github.com/onceward/onceward/server/internal/redisstore"
	"github.com/onceward/onceward/server/internal/redistest"
)

// lane is one way Redis is deployed, with the servers that its tests share.
type lane struct {
	name  string
	mode  redisstore.Mode
	url   string
	nodes []*redis.Client
}

// lanes starts the lanes that ONCEWARD_TEST_LANES names: redis, cluster, or, as
// without it, both.
func lanes(t *testing.T) []lane {
	t.Helper()
	wanted := strings.FieldsFunc(os.Getenv("ONCEWARD_TEST_LANES"), func(r rune) bool { return r == ',' })
	if len(wanted) == 0 {
		wanted = []string{"redis", "cluster"}
	}
	var out []lane
	if slices.Contains(wanted, "redis") {
		s := redistest.Start(t)
		out = append(out, lane{"redis", redisstore.Standalone, s.URL(), []*redis.Client{s.Client()}})
	}
	if slices.Contains(wanted, "cluster") {
		nodes := redistest.StartCluster(t)
		l := lane{name: "cluster", mode: redisstore.Cluster, url: redistest.ClusterURL(nodes)}
		for _, n := range nodes {
			l.nodes = append(l.nodes, n.Client())
		}
		out = append(out, l)
	}
	return out
}

// open opens a store with a prefix of its own, so that tests share a server and
// never meet.
func (l *lane) open(t testing.TB) (*redisstore.Store, string) {
	t.Helper()
	prefix := redisstore.DefaultPrefix + rand.Text() + ":"
	s, err := redisstore.Open(l.mode, l.url, prefix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, prefix
}

// keys lists the keys under a prefix, with the node that holds each.
func (l *lane) keys(t testing.TB, prefix string) map[string]*redis.Client {
	t.Helper()
	found := map[string]*redis.Client{}
	for _, n := range l.nodes {
		it := n.Scan(context.Background(), 0, prefix+"*", 1000).Iterator()
		for it.Next(context.Background()) {
			found[it.Val()] = n
		}
		if err := it.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// advance takes d off the life of every key under a prefix. A record's PTTL is
// the only clock of its lease and its retention, so this is what letting d pass
// means. Redis's TIME, which orders tokens and applications to the millisecond,
// passes by itself.
func (l *lane) advance(t testing.TB, prefix string, d time.Duration) {
	t.Helper()
	time.Sleep(2 * time.Millisecond)
	for key, n := range l.keys(t, prefix) {
		left, err := n.PTTL(context.Background(), key).Result()
		if err == nil && left == -1 {
			if kind := key[strings.Index(key, "}")+1:]; kind != "flagged" && kind[0] != 'e' {
				t.Errorf("key %s has no expiry", key) // an entity may be kept for ever
			}
			continue
		}
		if err == nil {
			err = n.PExpire(context.Background(), key, left-d).Err() // at or below 0 deletes
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestBehaviour(t *testing.T) {
	for _, l := range lanes(t) {
		t.Run(l.name, func(t *testing.T) {
			oncewardtest.Run(t, func(t *testing.T) oncewardtest.Harness {
				s, prefix := l.open(t)
				return oncewardtest.Harness{
					Store:   s,
					Advance: func(d time.Duration) { l.advance(t, prefix, d) },
					Now:     time.Now,
				}
			})
		})
	}
}

// TestAnUnreadableRecordHidesNoOther plants garbage in place of one listed record
// of each kind.
func TestAnUnreadableRecordHidesNoOther(t *testing.T) {
	for _, l := range lanes(t) {
		t.Run(l.name, func(t *testing.T) {
			s, prefix := l.open(t)
			service := onceward.NewService(s, onceward.DefaultPolicies())
			open := func(name string) {
				t.Helper()
				_, err := service.CheckAndClaim(t.Context(), &onceward.CheckAndClaimRequest{ClaimID: onceward.ClaimID{Namespace: "n", Key: name}})
				for _, event := range []string{"A", "B"} {
					_, bad := service.ApplyIfNewer(t.Context(), &onceward.ApplyIfNewerRequest{
						EntityID: onceward.EntityID{Namespace: "n", Entity: name},
						Event:    onceward.Event{ID: event, Version: onceward.Version{Kind: onceward.Sequence}},
					})
					err = errors.Join(err, bad)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			open("broken")
			for key, n := range l.keys(t, prefix) {
				if kind := key[strings.Index(key, "}")+1:]; len(kind) == 21 {
					n.Set(context.Background(), key, "garbage", redis.KeepTTL)
				}
			}
			open("whole")
			claims, err := service.ListClaims(t.Context(), &onceward.ListClaimsRequest{Namespace: "n", State: onceward.InProgress})
			if err != nil || len(claims.Claims) != 1 || claims.Claims[0].Key != "whole" {
				t.Errorf("claims are %+v, %v", claims, err)
			}
			entities, err := service.ListEntities(t.Context(), &onceward.ListEntitiesRequest{Namespace: "n"})
			if err != nil || len(entities.Entities) != 1 || entities.Entities[0].EntityID.Entity != "whole" {
				t.Errorf("entities are %+v, %v", entities, err)
			}
			if _, err := service.Overview(t.Context(), ""); err != nil {
				t.Error(err)
			}
		})
	}
}
