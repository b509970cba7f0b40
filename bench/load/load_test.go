package load

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// TestOpenLoopSeesAStall lets a service stand still once. One call was under way
// then, but all those that were due meanwhile waited too.
func TestOpenLoopSeesAStall(t *testing.T) {
	const stall = 300 * time.Millisecond
	var once sync.Once
	var service sync.Mutex
	call := func(context.Context, int) (int, error) {
		service.Lock()
		defer service.Unlock()
		once.Do(func() { time.Sleep(stall) })
		return 1, nil
	}
	r, err := Open(t.Context(), 4, 1000, time.Second, call)
	if err != nil || r.Decisions != 1000 {
		t.Fatalf("%d decisions, %v", r.Decisions, err)
	}
	if p := r.Percentile(80); p < stall/10 {
		t.Errorf("p80 is %s: the calls that waited were spared", p)
	}
}

func TestTheFirstErrorEndsALoad(t *testing.T) {
	bad := errors.New("wrong answer")
	_, err := Closed(t.Context(), 8, time.Minute, func(context.Context, int) (int, error) { return 0, bad })
	if !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
}

func TestBatchesCountTheirDecisions(t *testing.T) {
	r, err := Closed(t.Context(), 2, 20*time.Millisecond, func(context.Context, int) (int, error) {
		time.Sleep(time.Millisecond)
		return 100, nil
	})
	if err != nil || r.Decisions != 100*r.Latency.TotalCount() || r.Decisions == 0 {
		t.Errorf("%d decisions in %d calls, %v", r.Decisions, r.Latency.TotalCount(), err)
	}
}
