package memstore_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/server/internal/memstore"
	"github.com/onceward/onceward/server/internal/onceward"
	"github.com/onceward/onceward/server/internal/onceward/oncewardtest"
)

// shifted is the wall clock plus what a test has let pass.
type shifted struct{ by atomic.Int64 }

func (c *shifted) now() time.Time          { return time.Now().Add(time.Duration(c.by.Load())) }
func (c *shifted) advance(d time.Duration) { c.by.Add(int64(d)) }

func open(t testing.TB) (*memstore.Store, *shifted) {
	c := &shifted{}
	s := memstore.New(c.now)
	t.Cleanup(func() { s.Close() })
	return s, c
}

func TestBehaviour(t *testing.T) {
	oncewardtest.Run(t, func(t *testing.T) oncewardtest.Harness {
		s, c := open(t)
		return oncewardtest.Harness{Store: s, Advance: c.advance, Now: c.now}
	})
}

func TestRecordsPastTheirRetentionLeaveMemory(t *testing.T) {
	s, c := open(t)
	service := onceward.NewService(s, onceward.DefaultPolicies())
	for i := range 1000 {
		q := &onceward.CheckAndClaimRequest{
			ClaimID:   onceward.ClaimID{Namespace: "n", Key: fmt.Sprint("k", i)},
			Retention: onceward.Of(time.Minute),
		}
		if _, err := service.CheckAndClaim(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	c.advance(time.Hour)
	for end := time.Now().Add(time.Minute); s.Len() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d records are still there", s.Len())
		}
	}
}
