package redisstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/onceward/onceward/server/internal/onceward"
	"github.com/onceward/onceward/server/internal/redistest"
)

// echo answers with its argument, so that an answer tells whose it is.
var echo = newScript("echo", "return ARGV[1]")

func echoing(text string) call {
	return call{script: echo, keys: []string{DefaultPrefix + "{000}" + text}, args: []any{text}}
}

// behind starts a Redis, a proxy before it, and a store on that.
func behind(t *testing.T) (*Store, *redistest.Server, *redistest.Proxy) {
	t.Helper()
	r := redistest.Start(t)
	proxy := redistest.StartProxy(t, r.Addr)
	s, err := Open(Standalone, proxy.URL(), DefaultPrefix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := s.run(t.Context(), echoing("first"), 0); err != nil {
		t.Fatal(err)
	}
	return s, r, proxy
}

func (s *Store) pipelineOf(t *testing.T, replicas int) *pipeline {
	t.Helper()
	node, err := s.primary(t.Context(), "any")
	if err != nil {
		t.Fatal(err)
	}
	return s.pipelineTo(lane{node, replicas})
}

// state is the pipeline's, for looks from outside.
func (p *pipeline) state() (queued, shared, waiting, running, length int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue), len(p.shared), p.waiting, p.running, p.length
}

// idle waits until nothing is left in a pipeline, nor of one.
func (p *pipeline) idle(t *testing.T) {
	t.Helper()
	redistest.Eventually(t, "the pipeline is idle", func() error {
		queued, shared, waiting, running, _ := p.state()
		if queued+shared+waiting+running != 0 {
			return fmt.Errorf("%d in the queue, %d shared, %d wait, %d exchanges", queued, shared, waiting, running)
		}
		return nil
	})
}

func TestPipelinesGrowAndShrink(t *testing.T) {
	for _, tc := range []struct {
		name                            string
		length, running, queued, wanted int
		failed                          bool
		took                            time.Duration
	}{
		{name: "alone and fast", length: 1, running: 1, wanted: 1},
		{name: "fast, and others wait", length: 1, running: 1, queued: 1, wanted: 2},
		{name: "fast, beside another exchange", length: 4, running: 2, wanted: 8},
		{name: "as long as may be", length: pipelineLength, running: 2, wanted: pipelineLength},
		{name: "never longer", length: pipelineLength - 1, running: 2, wanted: pipelineLength},
		{name: "neither fast nor slow", length: 8, running: 2, queued: 9, took: fast, wanted: 8},
		{name: "slow at its bound", length: 8, running: 2, queued: 9, took: slow, wanted: 8},
		{name: "slow", length: 8, running: 2, queued: 9, took: slow + 1, wanted: 4},
		{name: "slow alone", length: 8, running: 1, took: slow + 1, wanted: 4},
		{name: "never shorter than one", length: 1, running: 1, took: slow + 1, wanted: 1},
		{name: "failed", length: pipelineLength, running: 3, queued: 9, failed: true, wanted: 1},
		{name: "failed slowly", length: 16, running: 1, failed: true, took: time.Second, wanted: 1},
	} {
		p := &pipeline{length: tc.length, running: tc.running, queue: make([]*flight, tc.queued)}
		if p.adapt(!tc.failed, tc.took); p.length != tc.wanted {
			t.Errorf("%s: %d becomes %d, want %d", tc.name, tc.length, p.length, tc.wanted)
		}
	}
}

// TestAFullQueueTurnsCallersAwayAtOnce fills the queue before a Redis that does not
// answer: the surplus must learn so without waiting, the others in bounded time, and
// nothing may be left of either.
func TestAFullQueueTurnsCallersAwayAtOnce(t *testing.T) {
	s, _, proxy := behind(t)
	p := s.pipelineOf(t, 0)
	before := runtime.NumGoroutine()
	proxy.Hold()
	const surplus = 500
	begin := time.Now()
	flights := make([]*flight, queueLength+surplus)
	turnedAway := 0
	for i := range flights {
		flights[i] = s.start(t.Context(), echoing(fmt.Sprint(i)), 0)
		select {
		case <-flights[i].landed:
			if e := (*onceward.Error)(nil); errors.As(flights[i].err, &e) && e.Reason == onceward.ReasonOverloaded {
				turnedAway++
			}
		default:
		}
	}
	if turnedAway == 0 || turnedAway > surplus {
		t.Errorf("%d callers were turned away, want up to %d", turnedAway, surplus)
	}
	if _, _, waiting, _, _ := p.state(); waiting > queueLength {
		t.Errorf("%d wait, want %d at most", waiting, queueLength)
	}
	for _, f := range flights {
		<-f.landed
		if f.err == nil {
			t.Fatal("an answer without Redis")
		}
	}
	if took, most := time.Since(begin), 10*callTimeout; took > most { // a busy machine wakes 16,000 callers slowly
		t.Errorf("the last caller learned after %s, want %s at most", took, most)
	}
	p.idle(t)
	proxy.Pass()
	redistest.Eventually(t, "service resumes", func() error {
		_, err := s.run(t.Context(), echoing("after"), 0)
		return err
	})
	redistest.Eventually(t, "goroutines end", func() error {
		if n := runtime.NumGoroutine(); n > before+2*connections {
			return fmt.Errorf("%d, were %d", n, before)
		}
		return nil
	})
}

// TestWhoeverIsTooLateTellsNothingOfTheNode lets calls go by whose callers are gone.
// Dropping them is no exchange: it must not ask Redis for anything, nor make
// pipelines grow as if the node were fast.
func TestWhoeverIsTooLateTellsNothingOfTheNode(t *testing.T) {
	s, r, _ := behind(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	p := s.pipelineOf(t, 1)
	var flights []*flight
	for i := range 200 {
		f := &flight{call: echoing(fmt.Sprint(i)), ctx: gone, since: time.Now(), replicas: 1, landed: make(chan struct{})}
		if !p.board(f) {
			t.Fatal("the queue is full")
		}
		flights = append(flights, f)
	}
	for _, f := range flights {
		if <-f.landed; !errors.Is(f.err, context.Canceled) {
			t.Fatalf("error is %v", f.err)
		}
	}
	p.idle(t)
	if stats := r.Do("INFO", "commandstats").(string); strings.Contains(stats, "cmdstat_wait:") {
		t.Error("Redis was asked to WAIT for calls that were not sent")
	}
	if _, _, _, _, length := p.state(); length != 1 {
		t.Errorf("the next pipeline has %d calls, want 1", length)
	}
}

// TestWhatIsLeftOfALongPipelineGoesAsShortOnes is what follows a failed exchange:
// a queue that was to go as one, and pipelines of one call. On a node that is some
// way off they must not go one after the other.
func TestWhatIsLeftOfALongPipelineGoesAsShortOnes(t *testing.T) {
	s, _, proxy := behind(t)
	proxy.Delay(2 * fast)
	p := s.pipelineOf(t, 0)
	flights := make([]*flight, pipelineLength)
	for i := range flights {
		flights[i] = &flight{call: echoing(fmt.Sprint(i)), ctx: t.Context(), since: time.Now(), landed: make(chan struct{})}
	}
	p.idle(t)
	p.mu.Lock()
	p.queue, p.waiting, p.length, p.running = append(p.queue, flights...), len(flights), 1, 1
	p.mu.Unlock()
	go p.run()
	for i, f := range flights {
		if <-f.landed; f.err != nil || f.reply != fmt.Sprint(i) {
			t.Fatalf("call %d: %q, %v", i, f.reply, f.err)
		}
	}
	p.idle(t)
}

// TestAnExchangeIsNotTooLargeForItsTime: it has a fixed time for all that it sends,
// so that large results must not fill it as small claims do.
func TestAnExchangeIsNotTooLargeForItsTime(t *testing.T) {
	for name, tc := range map[string]struct{ bytes, wanted int }{
		"small":          {100, pipelineLength},
		"half":           {pipelineBytes / 2, 2},
		"more than half": {pipelineBytes/2 + 1, 1},
		"too large":      {2 * pipelineBytes, 1},
	} {
		p := &pipeline{length: pipelineLength, running: 1}
		for range 2 * pipelineLength {
			p.queue = append(p.queue, &flight{call: call{args: []any{make([]byte, tc.bytes)}}})
			if len(p.queue) > 8 && tc.bytes > 1000 {
				break
			}
		}
		if got := len(p.next()); got != tc.wanted {
			t.Errorf("%s: %d calls go together, want %d", name, got, tc.wanted)
		}
	}
}

func TestASlowNodeAnswersAllInTimeAndAFastOneFillsPipelines(t *testing.T) {
	s, _, proxy := behind(t)
	p := s.pipelineOf(t, 0)
	together := func(n int) {
		t.Helper()
		var flights []*flight
		for i := range n {
			flights = append(flights, s.start(t.Context(), echoing(fmt.Sprint(i)), 0))
		}
		for i, f := range flights {
			if r, err := s.wait(t.Context(), f); err != nil || r.left != fmt.Sprint(i) {
				t.Errorf("call %d: %q, %v", i, r.left, err)
			}
		}
	}
	proxy.Delay(slow + 20*time.Millisecond)
	begin := time.Now()
	together(20)
	if took := time.Since(begin); took > callTimeout {
		t.Errorf("20 calls of a slow node took %s", took)
	}
	p.idle(t)
	if _, _, _, _, length := p.state(); length > 2 {
		t.Errorf("pipelines to a slow node have %d calls", length)
	}
	proxy.Delay(0)
	redistest.Eventually(t, "pipelines grow", func() error {
		together(200)
		if _, _, _, _, length := p.state(); length < 16 {
			return fmt.Errorf("%d calls", length)
		}
		return nil
	})
}

// TestARefusedConnectionIsNoAnswer: Redis refuses the connection itself, and the
// driver leaves the commands of a pipeline without an error then. What was never
// run must not look like an answer, nor like a write that replicas did not confirm.
func TestARefusedConnectionIsNoAnswer(t *testing.T) {
	r := redistest.Start(t)
	r.Do("CONFIG", "SET", "requirepass", "right")
	s, err := Open(Standalone, "redis://:wrong@"+r.Addr, DefaultPrefix)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, replicas := range []int{0, 1} {
		got, err := s.run(t.Context(), echoing("call"), replicas)
		if e := (*onceward.Error)(nil); !errors.As(err, &e) || e.Reason != onceward.ReasonStoreUnavailable {
			t.Errorf("with %d replicas: %q, %v, want %s", replicas, got.left, err, onceward.ReasonStoreUnavailable)
		}
	}
	node, err := s.primary(t.Context(), "any")
	if err != nil {
		t.Fatal(err)
	}
	f := &flight{call: echoing("alone"), replicas: 1}
	if got, err := f.sendAlone(t.Context(), node); !redis.HasErrorPrefix(err, "WRONGPASS") {
		t.Errorf("alone: %q, %v, want what Redis said", got, err)
	}
}

// TestErrorsInAPipelineStayWithTheirCalls mixes calls that Redis refuses with others.
func TestErrorsInAPipelineStayWithTheirCalls(t *testing.T) {
	s, r, proxy := behind(t)
	refusing := map[string]*script{
		"OOM":       newScript("oom", "return redis.error_reply('OOM command not allowed')"),
		"WRONGTYPE": newScript("wrongtype", "return redis.call('GET', KEYS[1])"),
		"NOPERM":    newScript("noperm", "return redis.error_reply('NOPERM no permissions')"),
		"BUSY":      newScript("busy", "return redis.error_reply('BUSY a script is running')"),
		"nil":       newScript("nil", "return nil"),
	}
	for name := range refusing {
		r.Do("SADD", DefaultPrefix+"{000}"+name, "of another type")
	}
	proxy.HoldReplies()
	s.start(t.Context(), echoing("held"), 0) // what follows waits for it, and goes together
	var flights []*flight
	var names []string
	for i := range 400 {
		text := fmt.Sprint(i)
		flights, names = append(flights, s.start(t.Context(), echoing(text), 0)), append(names, "")
		for name, script := range refusing {
			if i%20 == 0 {
				c := echoing(name)
				c.script = script
				flights, names = append(flights, s.start(t.Context(), c, 0)), append(names, name)
			}
		}
	}
	proxy.Pass()
	for i, f := range flights {
		<-f.landed
		switch {
		case names[i] == "" && (f.err != nil || f.reply != f.args[0].(string)):
			t.Errorf("call %s: %q, %v", f.args, f.reply, f.err)
		case names[i] == "nil" && !errors.Is(f.err, redis.Nil), names[i] != "" && f.err == nil:
			t.Errorf("%s: %q, %v", names[i], f.reply, f.err)
		case names[i] != "" && names[i] != "nil" && !strings.Contains(f.err.Error(), names[i]):
			t.Errorf("%s: %v", names[i], f.err)
		}
	}
}

// TestCloseEndsWhatIsUnderWay closes a store in the middle of traffic: every call
// gets an answer or an error, once.
func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	for range 5 {
		s, _, _ := behind(t)
		var flights []*flight
		for i := range 2000 {
			flights = append(flights, s.start(t.Context(), echoing(fmt.Sprint(i)), 0))
			if i == 1000 {
				s.Close()
			}
		}
		for i, f := range flights {
			if <-f.landed; f.err == nil && f.reply != fmt.Sprint(i) {
				t.Fatalf("call %d: %q", i, f.reply)
			}
		}
		s.pipelineOf(t, 0).idle(t)
	}
}
