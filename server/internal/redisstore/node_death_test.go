package redisstore_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/server/internal/onceward"
	"github.com/onceward/onceward/server/internal/redisstore"
	"github.com/onceward/onceward/server/internal/redistest"
)

// TestADeadNodeHoldsUpNobodyElse kills one node of a cluster under callers of keys
// on all of them: whose node is alive is answered, and the others learn in time.
func TestADeadNodeHoldsUpNobodyElse(t *testing.T) {
	nodes := redistest.StartCluster(t)
	for _, n := range nodes {
		n.Do("CONFIG", "SET", "cluster-require-full-coverage", "no")
	}
	s, err := redisstore.Open(redisstore.Cluster, redistest.ClusterURL(nodes), redisstore.DefaultPrefix)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	service := onceward.NewService(s, onceward.DefaultPolicies())
	var answered, failed atomic.Int64
	burst := func(name string) {
		var all sync.WaitGroup
		for i := range 300 {
			all.Go(func() {
				begin := time.Now()
				v, err := service.CheckAndClaim(t.Context(), asking(fmt.Sprint(name, i)))
				if took := time.Since(begin); took > 3*time.Second { // the bound of a call is half of it
					t.Errorf("%s: call %d took %s", name, i, took)
				}
				switch {
				case err != nil:
					failed.Add(1)
				case v.Outcome == onceward.Claimed:
					answered.Add(1)
				default:
					t.Errorf("%s: call %d is told %v", name, i, v.Outcome)
				}
			})
		}
		all.Wait()
	}
	burst("before")
	if n := failed.Swap(0); n > 0 || answered.Swap(0) != 300 {
		t.Fatalf("%d calls failed before", n)
	}
	nodes[2].Kill()
	burst("after")
	if ok, bad := answered.Swap(0), failed.Swap(0); ok < 150 || bad == 0 {
		t.Errorf("%d calls were answered, %d failed, want about two thirds and one", ok, bad)
	}
}
