package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/onceward/onceward/client"
)

// A receiver of webhooks that credits an account once per event, however often
// and however concurrently the sender repeats it.
func ExampleClient_Once() {
	onceward, err := client.Dial("127.0.0.1:7070")
	if err != nil {
		panic(err)
	}
	defer onceward.Close()

	http.HandleFunc("POST /webhooks", func(w http.ResponseWriter, r *http.Request) {
		event, err := verify(r)
		if err != nil {
			http.Error(w, "bad signature", http.StatusUnauthorized)
			return
		}
		result, err := onceward.Once(r.Context(), client.ClaimRequest{
			Namespace: "stripe-live",
			Consumer:  "ledger",
			Key:       event.ID, // the event's id, never the delivery's
		}, func(ctx context.Context, claim *client.Claim) (client.Result, error) {
			if claim.Takeover != nil {
				// An earlier attempt died. Did it get as far as the credit? (One that
				// returned an error did not: credit is all or nothing.)
				if receipt, found := lookUp(ctx, claim.Key); found {
					return client.Result{Data: receipt}, nil
				}
			}
			receipt, err := credit(ctx, event, claim.FencingToken)
			return client.Result{Data: receipt}, err
		})

		var failed *client.FailedError
		var busy *client.InProgressError
		switch {
		case err == nil: // a repeat gets the same answer as the first
			w.Write(result.Data)
		case errors.As(err, &failed): // can never succeed: do not let the sender repeat it
			w.WriteHeader(http.StatusNoContent)
		case errors.As(err, &busy): // the holder may still die: let the sender come back
			w.Header().Set("Retry-After", fmt.Sprintf("%.0f", busy.RetryAfter.Seconds()+1))
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
}

type webhook struct{ ID string }

func verify(*http.Request) (webhook, error)                            { return webhook{}, nil }
func lookUp(context.Context, string) ([]byte, bool)                    { return nil, false }
func credit(context.Context, webhook, int64) (receipt []byte, _ error) { return nil, nil }
