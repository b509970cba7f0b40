package reconcile_test

import (
	"context"
	"log"
	"time"

	"github.com/onceward/onceward/client"
	"github.com/onceward/onceward/client/reconcile"
)

// A job that asks about what is flagged, every hour.
func ExampleRun() {
	ctx := context.Background()
	onceward, err := client.Dial("127.0.0.1:7070")
	if err != nil {
		panic(err)
	}
	defer onceward.Close()

	ask := func(ctx context.Context, e client.ListedEntity) (reconcile.Truth, error) {
		charge, err := fetch(ctx, e.Entity)
		if err != nil {
			return reconcile.Truth{}, err // stays flagged
		}
		// Mend first, and only if what is stored is not newer: after Run has told
		// Onceward, nothing remembers that there was something to mend.
		if err := storeIfNotOlder(ctx, charge); err != nil {
			return reconcile.Truth{}, err
		}
		return reconcile.Truth{Version: client.Sequence(charge.Sequence), EventID: charge.LastEvent, State: charge.Status}, nil
	}
	options := reconcile.Options{Namespace: "stripe-live", Actor: "reconciler", Reason: "hourly"}
	for range time.Tick(time.Hour) {
		report, err := reconcile.Run(ctx, onceward, options, ask)
		log.Printf("reconciled: %+v, %v", report, err)
	}
}

type charge struct {
	Sequence          uint64
	LastEvent, Status string
}

func fetch(context.Context, string) (charge, error) { return charge{}, nil }
func storeIfNotOlder(context.Context, charge) error { return nil }
