package redisstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/onceward/onceward/server/internal/onceward"
)

// TestAHoldNeverEndsBeforeItsLease compares, in one step of Redis, what is left of
// the hold on an entity and of the lease that it stands for: in between another
// claim would be given the entity.
func TestAHoldNeverEndsBeforeItsLease(t *testing.T) {
	l := lanes(t)[0]
	s, prefix := l.open(t)
	policies := onceward.DefaultPolicies()
	policies.Default.Routing = onceward.RouteByEntity
	service := onceward.NewService(s, policies)
	const retention = 24 * time.Hour
	left := redis.NewScript("return {redis.call('PTTL', KEYS[1]), redis.call('PTTL', KEYS[2]) - ARGV[1]}")
	for i := range 2000 {
		id := onceward.ClaimID{Namespace: "n", Key: "k", Entity: fmt.Sprint("e", i)}
		q := &onceward.CheckAndClaimRequest{ClaimID: id, Ordered: true, Lease: onceward.Of(time.Hour), Retention: onceward.Of(retention)}
		if _, err := service.CheckAndClaim(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		claim, entity := id.Record(), id.EntityOf().Record()
		at := fmt.Sprintf("%s{%03x}", prefix, claim.Partition)
		got, err := left.Run(context.Background(), l.nodes[0], []string{at + "h" + entity.Name, at + "c" + claim.Name}, retention.Milliseconds()).Int64Slice()
		if err != nil {
			t.Fatal(err)
		}
		if hold, lease := got[0], got[1]; hold < lease || lease <= 0 {
			t.Fatalf("claim %d: %d ms are left of the hold, %d of the lease", i, hold, lease)
		}
	}
}
