package redisstore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/onceward/onceward/server/internal/onceward"
)

// TestRecordsStaySmall holds the sizes that decide what a key costs: Redis keeps
// a value of up to 28 bytes in an allocation of 48, and one of up to 60 in 16
// and 64. One byte more costs 16.
func TestRecordsStaySmall(t *testing.T) {
	l := lanes(t)[0]
	s, prefix := l.open(t)
	service := onceward.NewService(s, onceward.DefaultPolicies())
	id := onceward.ClaimID{Namespace: "stripe-live", Key: "evt_1"}
	c, err := service.CheckAndClaim(t.Context(), &onceward.CheckAndClaimRequest{ClaimID: id})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.Complete(t.Context(), &onceward.CompleteRequest{ClaimID: id, Token: c.Token}); err != nil {
		t.Fatal(err)
	}
	_, err = service.ApplyIfNewer(t.Context(), &onceward.ApplyIfNewerRequest{
		EntityID: onceward.EntityID{Namespace: "stripe-live", Entity: "ch_1"},
		Event:    onceward.Event{Version: onceward.Version{Kind: onceward.Sequence, Sequence: 1<<64 - 1}, ID: "evt_" + strings.Repeat("x", 24)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[byte]int64{'c': 28, 'e': 60}
	for key, node := range l.keys(t, prefix) {
		kind := key[strings.Index(key, "}")+1]
		if size := node.StrLen(context.Background(), key).Val(); size > want[kind] {
			t.Errorf("%s has %d bytes, want at most %d", key, size, want[kind])
		}
		if want[kind] == 0 {
			t.Errorf("%s is left beside the records", key)
		}
	}
}
