package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
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

// worker receives deliveries, credits the ledger and keeps the mirror.
type worker struct {
	name     string
	run      string
	ledger   ledger
	mirror   mirror
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
	flags.StringVar((*string)(&w.mirror), "mirror", "", "")
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
	result, err := w.once(ctx, d)
	if err == nil && !result.Replayed {
		err = w.reach(report{At: pointRecorded})
	}
	return w.replies.since(answerTo(result, err))
}

func (w *worker) once(ctx context.Context, d Delivery) (client.Result, error) {
	if !d.isChange() {
		return w.onceward.Once(ctx, w.claim(d), func(ctx context.Context, claim *client.Claim) (client.Result, error) {
			return w.credit(ctx, claim, d)
		})
	}
	c, err := d.change()
	if err != nil {
		return client.Result{}, err
	}
	return w.onceward.Once(ctx, w.orderedClaim(d, c), func(ctx context.Context, claim *client.Claim) (client.Result, error) {
		return w.copy(ctx, claim, d.reflect(c))
	})
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
	var late *client.OutOfOrderError
	switch {
	case result.Replayed:
		r.Answer = answerDuplicate
	case errors.As(err, &failed):
		r.Answer = answerDone
	case errors.As(err, &busy):
		r.Answer, r.RetryAfter = answerInProgress, busy.RetryAfter
	case errors.As(err, &late):
		r.outOfOrder(late)
	case err != nil:
		r.Answer, r.Error = answerError, err.Error()
	}
	return r
}

// outOfOrder acknowledges what needs no more deliveries: what is overtaken, and
// what has flagged its charge, since the source will be asked.
func (r *report) outOfOrder(late *client.OutOfOrderError) {
	r.Order = late.Outcome
	switch late.Outcome {
	case client.Stale, client.AlreadyApplied, client.Tie, client.TransitionDenied:
		r.Answer = answerDone
	case client.Busy:
		r.Answer, r.RetryAfter = answerInProgress, late.RetryAfter
	default:
		r.Answer, r.Error = answerError, late.Error()
	}
}
