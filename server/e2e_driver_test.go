package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// strictPolicies bring the rarer paths into reach: parking, leases that are not
// handed on, and order.
const strictPolicies = `
namespaces:
  few-attempts: {max_attempts: 2}
  reconcile: {on_started_takeover: reconcile}
  orders: {routing: entity, ordering: {gap: hold}}
  snapshots: {routing: entity, ordering: {gap: apply, first: 1}}
`

// driver calls random verbs on a few claims and entities, with tokens that may
// be of a claim that others have taken over, settled or never held.
type driver struct {
	p     *process
	calls atomic.Int64

	mu     sync.Mutex
	tokens map[subject]int64
}

// subject is one claim, and the entity that it is about.
type subject struct{ namespace, key, entity string }

func someSubject() subject {
	s := subject{namespace: []string{namespace, "few-attempts", "reconcile", "orders", "snapshots"}[rand.N(5)]}
	s.key = fmt.Sprintf("random-%d", rand.N(40))
	if s.ordered() {
		s.entity = fmt.Sprintf("entity-%d", rand.N(10))
	}
	return s
}

func (s subject) ordered() bool { return s.namespace == "orders" || s.namespace == "snapshots" }

func someDuration(least time.Duration) *durationpb.Duration {
	return durationpb.New(least + rand.N(2*time.Second))
}

func someVersion() *oncewardv1.Version {
	return &oncewardv1.Version{Value: &oncewardv1.Version_Sequence{Sequence: 1 + rand.N[uint64](200)}}
}

func (d *driver) until(ctx context.Context) {
	for ctx.Err() == nil {
		s := someSubject()
		err := verbs[rand.N(len(verbs))](d, ctx, s)
		d.calls.Add(1)
		if c := status.Code(err); c == codes.Internal || c == codes.DataLoss || c == codes.Unknown {
			d.p.t.Errorf("%v: %v", s, err)
			return
		}
	}
}

// verbs are the calls to choose from; CheckAndClaim stands there several times
// because the others have nothing to do without it.
var verbs = []func(*driver, context.Context, subject) error{
	(*driver).claim, (*driver).claim, (*driver).claim, (*driver).complete, (*driver).complete, (*driver).release,
	(*driver).extend, (*driver).apply, (*driver).forget, (*driver).resolve, (*driver).reconcile,
}

func (d *driver) claim(ctx context.Context, s subject) error {
	q := attempt(s.key, in(s.namespace), retention(time.Second+rand.N(time.Hour)), lease(50*time.Millisecond+rand.N(200*time.Millisecond)))
	if s.ordered() {
		q.Order = &oncewardv1.Order{Entity: s.entity, Version: someVersion()}
	} else if rand.N(10) == 0 {
		q.Final, q.Lease = true, nil
	}
	v, err := d.p.CheckAndClaim(ctx, q)
	if v.GetOutcome() == claimed {
		d.learn(s, v.GetFencingToken())
	}
	return err
}

func (d *driver) complete(ctx context.Context, s subject) error {
	q := &oncewardv1.CompleteRequest{Namespace: s.namespace, Key: s.key, Entity: s.entity, FencingToken: d.token(s), Failed: rand.N(4) == 0}
	if rand.N(2) == 0 {
		q.Result, q.Retention = []byte("a result"), someDuration(time.Second)
	}
	_, err := d.p.Complete(ctx, q)
	return err
}

func (d *driver) release(ctx context.Context, s subject) error {
	q := &oncewardv1.ReleaseRequest{Namespace: s.namespace, Key: s.key, Entity: s.entity, FencingToken: d.token(s)}
	if q.Park = rand.N(3) == 0; !q.Park {
		q.RetryAfter = someDuration(time.Millisecond)
	}
	_, err := d.p.Release(ctx, q)
	return err
}

func (d *driver) extend(ctx context.Context, s subject) error {
	_, err := d.p.ExtendLease(ctx, &oncewardv1.ExtendLeaseRequest{
		Namespace: s.namespace, Key: s.key, Entity: s.entity, FencingToken: d.token(s),
		Lease: someDuration(50 * time.Millisecond), EffectStarted: rand.N(3) == 0,
	})
	return err
}

func (d *driver) apply(ctx context.Context, s subject) error {
	_, err := d.p.ApplyIfNewer(ctx, &oncewardv1.ApplyIfNewerRequest{
		Namespace: s.namespace, Entity: "of " + s.entity, Version: someVersion(), EventId: s.key, Retention: someDuration(time.Second),
	})
	return err
}

func (d *driver) forget(ctx context.Context, s subject) error {
	if s.ordered() && rand.N(2) == 0 {
		_, err := d.p.admin.ForgetEntity(ctx, &oncewardv1.ForgetEntityRequest{Namespace: s.namespace, Entity: s.entity, Actor: "driver", Reason: "random"})
		return err
	}
	_, err := d.p.admin.ForgetClaim(ctx, &oncewardv1.ForgetClaimRequest{Namespace: s.namespace, Key: s.key, Entity: s.entity, Actor: "driver", Reason: "random"})
	return err
}

func (d *driver) resolve(ctx context.Context, s subject) error {
	_, err := d.p.admin.ResolveClaim(ctx, &oncewardv1.ResolveClaimRequest{
		Namespace: s.namespace, Key: s.key, Entity: s.entity, Actor: "driver", Reason: "random", Result: []byte("looked up"),
		Resolution: oncewardv1.ResolveClaimRequest_Resolution(1 + rand.N(2)),
	})
	return err
}

func (d *driver) reconcile(ctx context.Context, s subject) error {
	if !s.ordered() {
		s.entity = "of " // one that apply knows
	}
	_, err := d.p.admin.ReconcileEntity(ctx, &oncewardv1.ReconcileEntityRequest{
		Namespace: s.namespace, Entity: s.entity, Version: someVersion(), AllowBackwards: rand.N(2) == 0, Actor: "driver", Reason: "random",
	})
	return err
}

// token is the last known one of a claim, or any.
func (d *driver) token(s subject) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.tokens[s]; t != 0 {
		return t
	}
	return 1 + rand.N[int64](1<<50)
}

func (d *driver) learn(s subject, token int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tokens[s] = token
}
