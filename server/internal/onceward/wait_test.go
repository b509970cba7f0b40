package onceward

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// heldStore is a store in which one key is held and every token is a stranger's.
type heldStore struct {
	Store
	asked atomic.Int64
}

func (s *heldStore) CheckAndClaim(context.Context, *CheckAndClaimRequest) (ClaimVerdict, error) {
	s.asked.Add(1)
	return ClaimVerdict{Outcome: StillInProgress, RetryAfter: time.Minute}, nil
}

func (s *heldStore) Complete(context.Context, *CompleteRequest) (Settlement, error) {
	return Settlement{Outcome: Lost, State: InProgress}, nil
}

// TestStrangersDoNotWakeWaiters holds that a waiter costs the store its slow poll
// and no more, whatever others try with tokens that are not theirs.
func TestStrangersDoNotWakeWaiters(t *testing.T) {
	store := &heldStore{}
	service := NewService(store, DefaultPolicies())
	id := ClaimID{Namespace: "n", Key: "k"}
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		service.CheckAndClaim(t.Context(), &CheckAndClaimRequest{ClaimID: id, Wait: Of(time.Second)})
	}()
	for done := false; !done; {
		select {
		case <-waited:
			done = true
		default:
			service.Complete(t.Context(), &CompleteRequest{ClaimID: id, Token: 1})
			time.Sleep(time.Millisecond)
		}
	}
	if n := store.asked.Load(); n > 20 { // 20 ms, 30 ms, 45 ms … up to 250 ms
		t.Errorf("one waiter asked the store %d times in a second", n)
	}
}
