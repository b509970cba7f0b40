package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	"github.com/onceward/onceward/client"
)

const (
	workerMode = "worker"

	// lease is short so that the demonstration is: a dead worker's event can be
	// taken over two seconds later.
	lease = 2 * time.Second
	// effort is what the work takes, apart from the ledger.
	effort = 4 * time.Millisecond
	// patience bounds the handling of one delivery, as a sender's timeout would.
	patience = 10 * time.Second
)

// worker receives deliveries and credits the ledger.
type worker struct {
	name     string
	run      string
	ledger   ledger
	onceward *client.Client
	replies  *lossyReplies
	orders   *json.Decoder
	reports  *json.Encoder
}

func work(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	w := &worker{replies: &lossyReplies{}, orders: json.NewDecoder(in), reports: json.NewEncoder(out)}
	flags := flag.NewFlagSet(workerMode, flag.ContinueOnError)
	addr := flags.String("addr", "", "")
	flags.StringVar(&w.name, "name", "", "")
	flags.StringVar(&w.run, "run", "", "")
	flags.StringVar((*string)(&w.ledger), "ledger", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if w.onceward, err = client.Dial(*addr, grpc.WithChainUnaryInterceptor(w.replies.intercept)); err != nil {
		return err
	}
	defer w.onceward.Close()
	return w.serve(ctx)
}

// serve handles one delivery after the other until the coordinator hangs up.
func (w *worker) serve(ctx context.Context) error {
	for {
		var o order
		switch err := w.orders.Decode(&o); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case o.Delivery == nil:
			return errors.New("an order without a delivery")
		}
		w.replies.lose(o.Delivery.Lost)
		if err := w.reports.Encode(w.handle(ctx, *o.Delivery)); err != nil {
			return err
		}
	}
}

// handle is the whole of what a receiver does with a delivery.
func (w *worker) handle(ctx context.Context, d Delivery) report {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	result, err := w.onceward.Once(ctx, w.claim(d), func(ctx context.Context, claim *client.Claim) (client.Result, error) {
		return w.credit(ctx, claim, d)
	})
	if err == nil && !result.Replayed {
		err = w.reach(report{At: pointRecorded})
	}
	return w.replies.since(answerTo(result, err))
}

// claim names the event. The delivery's id has no part in it.
func (w *worker) claim(d Delivery) client.ClaimRequest {
	digest := sha256.Sum256(d.Payload)
	return client.ClaimRequest{
		Namespace:   d.Namespace + "/" + w.run,
		Consumer:    "ledger",
		Key:         d.EventID,
		Fingerprint: digest[:],
		Owner:       w.name,
		Lease:       lease,
	}
}

// credit makes the effect, unless an earlier attempt got as far as that.
func (w *worker) credit(ctx context.Context, claim *client.Claim, d Delivery) (client.Result, error) {
	if err := w.reach(report{At: pointClaimed, TakenOver: claim.Takeover != nil}); err != nil {
		return client.Result{}, err
	}
	cents, err := d.cents()
	if err != nil {
		return client.Result{}, client.Terminal(err)
	}
	found := false
	if claim.Attempt > 1 {
		if found, err = w.ledger.has(d.event()); err != nil {
			return client.Result{}, err
		}
	}
	if !found {
		if err := w.pay(ctx, credit{Event: d.event(), Cents: cents, Token: claim.FencingToken}); err != nil {
			return client.Result{}, err
		}
	}
	receipt := client.Result{Data: fmt.Appendf(nil, `{"credited":"%d"}`, cents), Type: "application/json"}
	return receipt, w.reach(report{At: pointCredited, Found: found})
}

// pay works for a moment and looks once more whether the lease is still held
// before it does what cannot be undone.
func (w *worker) pay(ctx context.Context, c credit) error {
	time.Sleep(effort)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return w.ledger.append(c)
}

// reach reports a point and waits for the order to go on.
func (w *worker) reach(r report) error {
	if err := w.reports.Encode(w.replies.since(r)); err != nil {
		return err
	}
	return w.orders.Decode(&order{})
}

// answerTo is what a receiver tells the sender.
func answerTo(result client.Result, err error) report {
	r := report{At: pointAnswered, Answer: answerDone}
	var busy *client.InProgressError
	var failed *client.FailedError
	switch {
	case result.Replayed:
		r.Answer = answerDuplicate
	case errors.As(err, &failed):
		r.Answer = answerDone
	case errors.As(err, &busy):
		r.Answer, r.RetryAfter = answerInProgress, busy.RetryAfter
	case err != nil:
		r.Answer, r.Error = answerError, err.Error()
	}
	return r
}
