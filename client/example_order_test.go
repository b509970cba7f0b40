package client_test

import (
	"context"
	"errors"
	"net/http"

	"github.com/onceward/onceward/client"
)

// A receiver that works on the events of one order one at a time, and never on
// an old one after a newer one, in a namespace with routing: entity.
func ExampleClient_Once_ordered() {
	var onceward *client.Client // see client.Dial

	http.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		event := parse(r)
		_, err := onceward.Once(r.Context(), client.ClaimRequest{
			Namespace: "shop/orders",
			Consumer:  "shipping",
			Key:       event.ID,
			Order: &client.Order{
				Entity:  event.Order,
				Version: client.Sequence(event.Sequence), // as the sender counts, never the time of receipt
			},
		}, func(ctx context.Context, claim *client.Claim) (client.Result, error) {
			return client.Result{}, ship(ctx, event, claim.FencingToken)
		})
		if !acknowledges(err) {
			w.WriteHeader(http.StatusServiceUnavailable) // the sender comes again
		}
	})
}

// acknowledges says what a sender is told after Once.
func acknowledges(err error) bool {
	var failed *client.FailedError
	var late *client.OutOfOrderError
	switch {
	case err == nil, errors.As(err, &failed): // done, now or before
		return true
	case errors.As(err, &late):
		switch late.Outcome {
		case client.Stale, client.AlreadyApplied: // as new, or newer, was done
			return true
		case client.Tie, client.TransitionDenied: // flagged: package reconcile asks the source
			return true
		}
	}
	return false // Busy, Gap, Future, in progress, and every error that says nothing
}

// A mirror of states: safe to repeat, so that Apply is enough.
func ExampleClient_Apply() {
	var onceward *client.Client // see client.Dial
	ctx, event := context.Background(), orderChange{ID: "evt_7", Order: "order-1", Sequence: 7}

	answer, err := onceward.Apply(ctx, client.ApplyRequest{
		Namespace: "shop/mirror",
		Entity:    event.Order,
		Version:   client.Sequence(event.Sequence),
		EventID:   event.ID,
		RequestID: event.ID, // a delivery after a crash is Applied again
	})
	if err != nil {
		return // do not acknowledge
	}
	if answer.Outcome == client.Applied {
		// update orders set state = …, version = 7 where id = … and version < 7
		store(ctx, event)
	}
}

type orderChange struct {
	ID, Order string
	Sequence  uint64
}

func parse(*http.Request) orderChange                { return orderChange{} }
func ship(context.Context, orderChange, int64) error { return nil }
func store(context.Context, orderChange)             {}
