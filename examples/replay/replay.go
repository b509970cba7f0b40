package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// maxTries is how often a delivery is made before the run is given up: far
	// more than anything but a broken service needs.
	maxTries = 100
	// senderBackoff is how long the sender waits after an error.
	senderBackoff = 100 * time.Millisecond
)

// coordinator plays the sender, and fate.
type coordinator struct {
	options  options
	ledger   ledger
	mirror   mirror
	queue    chan attempt   // deliveries to be made
	open     sync.WaitGroup // deliveries not acknowledged yet
	progress func()         // called for each acknowledged delivery

	mu    sync.Mutex
	doom  map[string]point // events whose worker dies, and where
	tally tally
}

// attempt is a delivery on its way, for the nth time.
type attempt struct {
	Delivery
	tries int
}

// replay makes all deliveries and returns what was seen on the way.
func replay(ctx context.Context, o options, deliveries []Delivery, l ledger, m mirror) (tally, error) {
	c := &coordinator{
		options: o,
		ledger:  l,
		mirror:  m,
		// An unacknowledged delivery is in the queue at most once, so that
		// nobody ever waits to send.
		queue:    make(chan attempt, len(deliveries)),
		progress: newProgress(len(deliveries)),
		doom:     plan(deliveries, o.kill, o.seed),
		tally:    newTally(),
	}
	c.open.Add(len(deliveries))
	for _, d := range deliveries {
		c.queue <- attempt{Delivery: d}
	}
	group, ctx := errgroup.WithContext(ctx)
	for i := range o.workers {
		group.Go(func() error { return c.feed(ctx, fmt.Sprintf("worker-%d", i+1)) })
	}
	go func() {
		c.open.Wait()
		close(c.queue)
	}()
	err := group.Wait()
	return c.tally, err
}

// feed keeps one worker busy, and replaces it when it dies, until every delivery
// is acknowledged.
func (c *coordinator) feed(ctx context.Context, name string) error {
	var worker *process
	defer func() {
		if worker != nil {
			worker.stop()
		}
	}()
	for generation := 1; ; {
		a, more, err := c.next(ctx)
		if !more {
			return err
		}
		if worker == nil {
			if worker, err = c.start(ctx, fmt.Sprintf("%s.%d", name, generation)); err != nil {
				return err
			}
			generation++
		}
		alive, err := c.deliver(worker, a)
		if err != nil {
			return err
		}
		if !alive {
			worker = nil
		}
	}
}

func (c *coordinator) next(ctx context.Context) (a attempt, more bool, err error) {
	select {
	case a, more = <-c.queue:
		return a, more, nil
	case <-ctx.Done():
		return a, false, ctx.Err()
	}
}

func (c *coordinator) start(ctx context.Context, name string) (*process, error) {
	return startProcess(ctx, name, "-addr", c.options.addr, "-run", c.options.run, "-ledger", string(c.ledger), "-mirror", string(c.mirror))
}

// deliver makes one delivery and does what a sender does with the answer. It
// reports whether the worker is still alive.
func (c *coordinator) deliver(worker *process, a attempt) (alive bool, err error) {
	if a.tries++; a.tries > maxTries {
		return true, fmt.Errorf("the sender gave up on %s after %d deliveries", a.event(), maxTries)
	}
	c.count(func(t *tally) { t.delivered++ })
	r, alive, err := worker.handle(a.Delivery, func(r report) bool { return c.mayLive(worker.name, a.Delivery, r) })
	switch {
	case err != nil:
		return alive, fmt.Errorf("worker: %w", err)
	case !alive: // the connection broke: the sender repeats at once
		c.again(a, 0)
	case r.Answer == answerInProgress:
		c.again(a, r.RetryAfter)
	case r.Answer == answerError:
		c.again(a, senderBackoff)
	case a.Lost == lostAck: // acknowledged, but the sender does not know
		c.count(func(t *tally) { t.lost[lostAck]++ })
		c.again(a, 0)
	default:
		c.progress()
		c.open.Done()
	}
	return alive, nil
}

// mayLive counts what a worker reports, and decides whether it lives on.
func (c *coordinator) mayLive(worker string, d Delivery, r report) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tally.add(d, r)
	if c.doom[d.event()] != r.At {
		return true
	}
	delete(c.doom, d.event())
	c.tally.deaths = append(c.tally.deaths, "killed "+worker+" "+lastWords[r.At])
	return false
}

// again makes the delivery anew after a while: the same event under another
// delivery id, and this time nothing gets lost.
func (c *coordinator) again(a attempt, after time.Duration) {
	a.Lost = ""
	a.DeliveryID = fmt.Sprintf("whd_%016x", rand.Uint64())
	time.AfterFunc(after, func() { c.queue <- a })
}

func (c *coordinator) count(change func(*tally)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.tally)
}
