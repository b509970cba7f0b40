package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/onceward/onceward/client"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

const orderedPolicies = "namespaces: {orders: {routing: entity}}"

// orderEvent is the nth event of one order.
func orderEvent(key string, n uint64) client.ClaimRequest {
	return client.ClaimRequest{
		Namespace: "orders", Key: key, Lease: 2 * time.Second,
		Order: &client.Order{Entity: "order-1", Version: client.Sequence(n)},
	}
}

func outOfOrder(err error) (o oncewardv1.ApplyOutcome, retryAfter time.Duration) {
	var late *client.OutOfOrderError
	if errors.As(err, &late) {
		return late.Outcome, late.RetryAfter
	}
	return 0, 0
}

func TestServer_OrderedEvents(t *testing.T) {
	s := startServerWith(t, orderedPolicies)
	ctx := t.Context()
	if _, err := s.client.Once(ctx, orderEvent("evt_5", 5), func(ctx context.Context, claim *client.Claim) (client.Result, error) {
		return client.Result{}, claim.EffectStarted(ctx)
	}); err != nil {
		t.Fatal(err)
	}
	if result, err := s.client.Once(ctx, orderEvent("evt_5", 5), mustNotRun(t)); err != nil || !result.Replayed {
		t.Errorf("the same event again: got %+v, %v", result, err)
	}
	_, err := s.client.Once(ctx, orderEvent("evt_4", 4), mustNotRun(t))
	if outcome, _ := outOfOrder(err); outcome != oncewardv1.ApplyOutcome_APPLY_OUTCOME_STALE {
		t.Errorf("an older event: got %v", err)
	}
	s.client.Once(ctx, orderEvent("evt_6", 6), failWith(errBoom))
	if record := s.claim(t, orderEvent("evt_6", 6)); record.State != client.StateReleased {
		t.Errorf("the failed event is %+v", record)
	}
}

func TestServer_OrderedEventsOfOneEntityAreSerial(t *testing.T) {
	s := startServerWith(t, orderedPolicies)
	waiting := make(chan error, 1)
	_, err := s.client.Once(t.Context(), orderEvent("evt_1", 1), func(context.Context, *client.Claim) (client.Result, error) {
		_, err := s.client.Once(t.Context(), orderEvent("evt_2", 2), mustNotRun(t))
		if outcome, retryAfter := outOfOrder(err); outcome != oncewardv1.ApplyOutcome_APPLY_OUTCOME_BUSY || retryAfter <= 0 {
			t.Errorf("the next event meanwhile: got %v", err)
		}
		go func() {
			patient := orderEvent("evt_2", 2)
			patient.Wait = generous
			_, err := s.client.Once(t.Context(), patient, succeed)
			waiting <- err
		}()
		return client.Result{}, nil
	})
	if err := errors.Join(err, <-waiting); err != nil {
		t.Error(err)
	}
}
