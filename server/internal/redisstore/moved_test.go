package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/onceward/onceward/server/internal/onceward"
)

// TestAMovedSlotIsFollowedWhereReplicasAreAskedFor moves a slot after the store
// has learned where it was. There are no replicas, so a claim that was written is
// answered REPLICATION, and one that reached no primary STORE_UNAVAILABLE.
func TestAMovedSlotIsFollowedWhereReplicasAreAskedFor(t *testing.T) {
	for _, l := range lanes(t) {
		if l.name != "cluster" {
			continue
		}
		s, prefix := l.open(t)
		policies := onceward.DefaultPolicies()
		policies.Default.MinReplicas = 1
		service := onceward.NewService(s, policies)
		id := onceward.ClaimID{Namespace: "n", Key: "k"}
		claim := func() onceward.Reason {
			var e *onceward.Error
			_, err := service.CheckAndClaim(t.Context(), &onceward.CheckAndClaimRequest{ClaimID: onceward.ClaimID{Namespace: "n", Key: "k"}, RequestID: "r"})
			if !errors.As(err, &e) {
				t.Fatalf("error is %v", err)
			}
			return e.Reason
		}
		key := fmt.Sprintf("%s{%03x}c", prefix, id.Record().Partition)
		moveSlot(t, &l, key) // so that what follows is not where it was at first either
		if got := claim(); got != onceward.ReasonReplication {
			t.Fatalf("before the move: %s", got)
		}
		for held, n := range l.keys(t, prefix) {
			n.Del(context.Background(), held) // only an empty slot can be handed over at once
		}
		moveSlot(t, &l, key)
		if got := claim(); got != onceward.ReasonReplication {
			t.Errorf("after the move: %s", got)
		}
	}
}

// moveSlot gives the empty slot of a key to another primary.
func moveSlot(t *testing.T, l *lane, key string) {
	t.Helper()
	ctx := context.Background()
	slot := l.nodes[0].ClusterKeySlot(ctx, key).Val()
	for _, to := range l.nodes {
		if owns(t, to, slot) {
			continue
		}
		name, err := to.Do(ctx, "CLUSTER", "MYID").Text()
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range append([]*redis.Client{to}, l.nodes...) {
			if err := n.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", name).Err(); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
}

func owns(t *testing.T, n *redis.Client, slot int64) bool {
	t.Helper()
	id, err := n.Do(context.Background(), "CLUSTER", "MYID").Text()
	if err != nil {
		t.Fatal(err)
	}
	shards, err := n.ClusterShards(context.Background()).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, shard := range shards {
		for _, r := range shard.Slots {
			if r.Start <= slot && slot <= r.End {
				return shard.Nodes[0].ID == id
			}
		}
	}
	return false
}
