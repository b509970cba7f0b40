package client_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/onceward/onceward/client"
)

// The places where a worker stops dead.
const (
	beforeEffect   = "before the effect"
	afterEffect    = "after the effect"
	beforeComplete = "before Complete"
	afterComplete  = "after Complete"
)

var fates = []string{beforeEffect, afterEffect, beforeComplete, afterComplete}

var errDead = status.Error(codes.FailedPrecondition, "the process is dead")

// life is one process's: its connection, and how it will end.
type life struct {
	client *client.Client
	fate   string // for the event at hand; "": it lives on
	dead   atomic.Bool
}

// intercept lets nothing out of a dead process.
func (l *life) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	completing := strings.HasSuffix(method, "/Complete")
	if completing && l.fate == beforeComplete || l.dead.Load() {
		l.dead.Store(true)
		return errDead
	}
	err := invoke(ctx, method, req, reply, conn, opts...)
	if completing && l.fate == afterComplete {
		l.dead.Store(true)
		return errDead
	}
	return err
}

// crashWorker handles deliveries, one process after the other.
type crashWorker struct {
	t         *testing.T
	servers   []*realServer
	ledger    *fencedLedger
	queue     *shuffledQueue
	deaths    *tally
	takeovers *tally
	name      string
	random    *rand.Rand
}

func (w *crashWorker) work(ctx context.Context) {
	l := w.born()
	defer func() { l.client.Close() }()
	for ctx.Err() == nil {
		c, ok, more := w.queue.take(w.random)
		if !more {
			return
		}
		if !ok {
			time.Sleep(time.Millisecond)
			continue
		}
		l.fate = w.fate()
		if w.handle(ctx, l, c) {
			w.queue.acknowledge()
		} else {
			w.queue.back(c)
		}
		if l.dead.Load() {
			w.deaths.add(l.fate)
			l.client.Close()
			l = w.born()
		}
	}
}

// born starts a process that is connected to either server.
func (w *crashWorker) born() *life {
	l := &life{}
	var err error
	server := w.servers[w.random.IntN(len(w.servers))]
	if l.client, err = client.Dial(server.target, grpc.WithChainUnaryInterceptor(l.intercept)); err != nil {
		panic(err)
	}
	return l
}

func (w *crashWorker) fate() string {
	if i := w.random.IntN(80); i < len(fates) {
		return fates[i]
	}
	return ""
}

// handle does what a receiver does, and reports whether it acknowledges.
func (w *crashWorker) handle(ctx context.Context, l *life, c change) bool {
	_, err := l.client.Once(ctx, c.request(w.name), func(ctx context.Context, claim *client.Claim) (client.Result, error) {
		return client.Result{}, w.effect(ctx, l, claim, c)
	})
	var late *client.OutOfOrderError
	var busy *client.InProgressError
	switch {
	case l.dead.Load() || ctx.Err() != nil:
		return false
	case err == nil:
		return true
	case errors.As(err, &late) && (late.Outcome == client.Stale || late.Outcome == client.AlreadyApplied):
		return true
	case errors.As(err, &late) && (late.Outcome == client.Gap || late.Outcome == client.Busy), errors.As(err, &busy):
		time.Sleep(5 * time.Millisecond)
		return false
	case errors.Is(err, client.ErrLeaseLost), errors.Is(err, errFenced), slow(err):
		return false
	}
	w.t.Errorf("event %d of %s: %v", c.n, c.entity, err)
	return false
}

// slow reports an error that a slow machine can cause: it proves nothing.
func slow(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}

func (w *crashWorker) effect(ctx context.Context, l *life, claim *client.Claim, c change) error {
	if claim.Takeover != nil {
		w.takeovers.add("looked")
	}
	if l.fate == beforeEffect {
		l.dead.Store(true)
		return errDead
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := w.ledger.act(c, claim.FencingToken, claim.Takeover != nil); err != nil {
		return err
	}
	if l.fate == afterEffect {
		l.dead.Store(true)
		return errDead
	}
	return nil
}
