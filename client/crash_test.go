package client_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/client"
)

const (
	crashEntities = 50
	crashEvents   = 40 // of each entity
	crashWorkers  = 16
)

// Half of the entities are worked on event by event, the others skip what is
// overtaken.
const crashPolicies = `
namespaces:
  held: {routing: entity, ordering: {gap: hold, first: 1}}
  snapshots: {routing: entity, ordering: {gap: apply, first: 1}}
`

// change is the nth event of an entity.
type change struct {
	namespace, entity string
	n                 uint64
}

func (c change) id() string    { return fmt.Sprintf("evt_%s_%d", c.entity, c.n) }
func (c change) state() string { return fmt.Sprintf("state-%d", c.n) }

func (c change) ref() client.EntityRef {
	return client.EntityRef{Namespace: c.namespace, Consumer: "mirror", Entity: c.entity}
}

func (c change) request(owner string) client.ClaimRequest {
	return client.ClaimRequest{
		Namespace: c.namespace, Consumer: "mirror", Key: c.id(), Owner: owner, Lease: time.Second,
		Order: &client.Order{Entity: c.entity, Version: client.Sequence(c.n), State: c.state()},
	}
}

// Two thousand events, of which some come twice and many out of order, through
// two servers on one Redis, by workers that keep stopping dead. Meanwhile no
// watermark is ahead of what was done, or goes backwards; in the end everything
// was done once.
func TestServers_OrderOutlivesWorkersThatStopDead(t *testing.T) {
	redis := startRedis(t)
	servers := []*realServer{startServerOn(t, redis, crashPolicies), startServerOn(t, redis, crashPolicies)}
	ctx, cancel := context.WithTimeout(t.Context(), 2*generous)
	defer cancel()
	ledger, queue := newFencedLedger(), newShuffledQueue()
	deaths, takeovers := newTally(), newTally()
	var workers, sampler sync.WaitGroup
	for i := range crashWorkers {
		w := &crashWorker{
			t: t, servers: servers, ledger: ledger, queue: queue, deaths: deaths, takeovers: takeovers,
			name: fmt.Sprintf("worker-%d", i), random: rand.New(rand.NewPCG(1, uint64(i))),
		}
		workers.Go(func() { w.work(ctx) })
	}
	finished := make(chan struct{})
	s := &watermarks{t: t, servers: servers, ledger: ledger, last: map[string]uint64{}}
	sampler.Go(func() { s.sample(ctx, finished) })
	workers.Wait()
	close(finished)
	sampler.Wait()
	if ctx.Err() != nil {
		t.Fatal("not all events were dealt with in time")
	}
	checkEntities(t, servers[0].client)
	ledger.check(t)
	for _, where := range fates {
		if deaths.count(where) == 0 {
			t.Errorf("no worker died %s", where)
		}
	}
	if takeovers.count("looked") == 0 || s.samples < crashEntities {
		t.Errorf("%d take-overs, %d samples", takeovers.count("looked"), s.samples)
	}
	t.Logf("deaths: %v, take-overs: %v, samples: %d", deaths.counts, takeovers.counts, s.samples)
}

// checkEntities wants every entity where the source has it.
func checkEntities(t *testing.T, c *client.Client) {
	t.Helper()
	for _, last := range lastChanges() {
		e, err := c.GetEntity(t.Context(), last.ref())
		if err != nil {
			t.Fatal(err)
		}
		if e.GetVersion().GetSequence() != last.n || e.GetEventId() != last.id() || e.GetState() != last.state() || e.GetNeedsReconcile() {
			t.Errorf("%s is %v, want event %d", last.entity, e, last.n)
		}
	}
}

func lastChanges() (out []change) {
	for i := range crashEntities {
		out = append(out, change{namespace: []string{"held", "snapshots"}[i%2], entity: fmt.Sprintf("entity-%d", i), n: crashEvents})
	}
	return out
}

// watermarks looks at entities while they move.
type watermarks struct {
	t       *testing.T
	servers []*realServer
	ledger  *fencedLedger
	last    map[string]uint64 // entity → its watermark when it was seen last
	samples int
}

// sample looks at one entity after the other, through either server, until
// finished.
func (s *watermarks) sample(ctx context.Context, finished <-chan struct{}) {
	for {
		for _, c := range lastChanges() {
			select {
			case <-finished:
				return
			case <-ctx.Done():
				return
			default:
			}
			s.samples++
			time.Sleep(time.Millisecond)
			e, err := s.servers[s.samples%2].client.GetEntity(ctx, c.ref())
			if slow(err) {
				continue
			}
			if err != nil {
				s.t.Errorf("sampling: %v", err)
				return
			}
			c.n = e.GetVersion().GetSequence()
			s.check(c)
		}
	}
}

// check is told what the watermark was a moment ago, 0 for none: what it stands
// for must be in the ledger now.
func (s *watermarks) check(c change) {
	if c.n < s.last[c.entity] {
		s.t.Errorf("%s went back from %d to %d", c.entity, s.last[c.entity], c.n)
	}
	s.last[c.entity] = c.n
	for n := c.n; n > 0 && (n == c.n || c.namespace == "held"); n-- {
		if !s.ledger.done(change{c.namespace, c.entity, n}) {
			s.t.Errorf("%s is at %d, but the effect of %d has not happened", c.entity, c.n, n)
		}
	}
}
