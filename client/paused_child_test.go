package client_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/onceward/onceward/client"
)

// pausedChild, in the environment, makes the test binary the child of
// TestServer_StoppedProcess and names the server.
const pausedChild = "ONCEWARD_CLIENT_TEST_PAUSED_CHILD"

func pausedRequest() client.ClaimRequest {
	return client.ClaimRequest{Namespace: "stripe-live", Key: "evt_paused", Lease: time.Second, Owner: "paused"}
}

// runPausedChild claims, says so, and works until it has been stopped for longer
// than its lease. What it then reports is what a handler sees on its very next
// step: on one processor, its function goes on before anything else can run.
func runPausedChild(target string) {
	runtime.GOMAXPROCS(1)
	c, err := client.Dial(target)
	if err != nil {
		fmt.Println("dial:", err)
		return
	}
	_, err = c.Once(context.Background(), pausedRequest(), func(ctx context.Context, _ *client.Claim) (client.Result, error) {
		before := time.Now()
		fmt.Println("working")
		spinUntilHalted(before, pausedRequest().Lease)
		state, cause := ctx.Err(), context.Cause(ctx)
		fmt.Println("context:", state, "cause lost:", cause == client.ErrLeaseLost)
		return client.Result{Data: []byte("of the paused one")}, nil // it believes that it has succeeded
	})
	switch {
	case err == nil:
		fmt.Println("once: success")
	case errors.Is(err, client.ErrLeaseLost):
		fmt.Println("once: lease lost")
	default:
		fmt.Println("once:", err)
	}
}

// spinUntilHalted keeps the processor until it notices a hole of at least d in
// time.
func spinUntilHalted(last time.Time, d time.Duration) {
	for {
		now := time.Now()
		if now.Sub(last) > d {
			return
		}
		last = now
	}
}
