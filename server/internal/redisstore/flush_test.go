package redisstore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/server/internal/onceward"
)

// TestScriptsForgottenUnderLoadCostNothing makes Redis forget its scripts again and
// again under callers of all verbs: nobody may notice, and no key may be given away
// twice.
func TestScriptsForgottenUnderLoadCostNothing(t *testing.T) {
	l := lanes(t)[0]
	s, _ := l.open(t)
	service := onceward.NewService(s, onceward.DefaultPolicies())
	ctx, stop := context.WithCancel(t.Context())
	var flushing sync.WaitGroup
	var flushes atomic.Int64
	flushing.Go(func() {
		for ctx.Err() == nil {
			for _, n := range l.nodes {
				n.ScriptFlush(context.Background())
				flushes.Add(1)
			}
		}
	})
	var claims [128]atomic.Int64 // of each key
	var callers sync.WaitGroup
	for range 64 {
		callers.Go(func() {
			for i := range claims {
				key := fmt.Sprint("key ", i)
				v, err := service.CheckAndClaim(ctx, asking(key))
				if err == nil && v.Outcome == onceward.Claimed {
					claims[i].Add(1)
					err = work(ctx, service, key, v.Token)
				}
				if err != nil {
					t.Errorf("%s: %v", key, err)
					return
				}
			}
		})
	}
	callers.Wait()
	stop()
	flushing.Wait()
	for i := range claims {
		if n := claims[i].Load(); n != 1 {
			t.Errorf("key %d was claimed %d times", i, n)
		}
	}
	t.Logf("%d flushes", flushes.Load())
}

// work calls every other verb that has to do with a claim, and finishes it.
func work(ctx context.Context, s *onceward.Service, key string, token int64) error {
	id := onceward.ClaimID{Namespace: "n", Key: key}
	entity := onceward.EntityID{Namespace: "n", Entity: key}
	act := onceward.Act{Actor: "test", Reason: "test"}
	event := onceward.Event{ID: key, Version: onceward.Version{Kind: onceward.Sequence, Sequence: 7}}
	if v, err := s.ExtendLease(ctx, &onceward.ExtendLeaseRequest{ClaimID: id, Token: token, Lease: onceward.Of(time.Hour)}); err != nil || v.Outcome != onceward.OK {
		return fmt.Errorf("ExtendLease: %v, %w", v.Outcome, err)
	}
	if c, err := s.GetClaim(ctx, &onceward.GetClaimRequest{ClaimID: id}); err != nil || c.Token != token || c.State != onceward.InProgress {
		return fmt.Errorf("GetClaim: %+v, %w", c, err)
	}
	if v, err := s.ApplyIfNewer(ctx, &onceward.ApplyIfNewerRequest{EntityID: entity, Event: event}); err != nil || v.Outcome != onceward.Applied {
		return fmt.Errorf("ApplyIfNewer: %v, %w", v.Outcome, err)
	}
	if e, err := s.GetEntity(ctx, &onceward.GetEntityRequest{EntityID: entity}); err != nil || e.EventID != key {
		return fmt.Errorf("GetEntity: %+v, %w", e, err)
	}
	event.Version.Sequence = 8
	if o, _, err := s.ReconcileEntity(ctx, &onceward.ReconcileEntityRequest{EntityID: entity, Event: event, Act: act}); err != nil || o != onceward.Applied {
		return fmt.Errorf("ReconcileEntity: %v, %w", o, err)
	}
	if _, err := s.ForgetEntity(ctx, &onceward.ForgetEntityRequest{EntityID: entity, Act: act}); err != nil {
		return fmt.Errorf("ForgetEntity: %w", err)
	}
	parked := &onceward.ReleaseRequest{ClaimID: id, Token: token, Park: true, Reason: "test"}
	if v, err := s.Release(ctx, parked); err != nil || v.Outcome != onceward.OK {
		return fmt.Errorf("Release: %v, %w", v.Outcome, err)
	}
	done := &onceward.ResolveClaimRequest{ClaimID: id, Act: act, Resolution: onceward.Done, Result: []byte(key)}
	if c, err := s.ResolveClaim(ctx, done); err != nil || c.State != onceward.Completed {
		return fmt.Errorf("ResolveClaim: %+v, %w", c, err)
	}
	return nil
}
