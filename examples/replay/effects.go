package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/onceward/onceward/client"
)

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

// orderedClaim also names the charge, and the event's place among its others. A
// run has copies of its own: policies name namespaces, so that the consumer is
// what tells two runs apart.
func (w *worker) orderedClaim(d Delivery, c change) client.ClaimRequest {
	req := w.claim(d)
	req.Namespace, req.Consumer = d.Namespace, consumer(w.run)
	req.Order = &client.Order{Entity: d.Entity, Version: c.version(), State: c.Status}
	return req
}

// credit makes the effect, unless a dead attempt got as far as that.
func (w *worker) credit(ctx context.Context, claim *client.Claim, d Delivery) (client.Result, error) {
	if err := w.reach(report{At: pointClaimed, TakenOver: claim.Takeover != nil}); err != nil {
		return client.Result{}, err
	}
	cents, err := d.cents()
	if err != nil {
		return client.Result{}, client.Terminal(err)
	}
	found := false
	if claim.Takeover != nil {
		if found, err = w.ledger.has(d.event()); err != nil {
			return client.Result{}, unclear(err)
		}
	}
	if !found {
		if err := w.pay(ctx, credit{Event: d.event(), Cents: cents, Token: claim.FencingToken}); err != nil {
			return client.Result{}, err
		}
	}
	receipt := client.Result{Data: fmt.Appendf(nil, `{"credited":"%d"}`, cents), Type: "application/json"}
	return receipt, unclear(w.reach(report{At: pointActed, Found: found}))
}

// pay works for a moment and looks once more whether the lease is still held
// before it does what cannot be undone.
func (w *worker) pay(ctx context.Context, c credit) error {
	time.Sleep(effort)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return unclear(w.ledger.append(c))
}

// unclear is an error after which nobody knows whether the credit is in the
// ledger: no other attempt may follow before a person has looked.
func unclear(err error) error {
	if err == nil {
		return nil
	}
	return &client.ReleaseError{Err: err, Park: true}
}

// copy writes a charge's state. There is nothing to look for after a take-over:
// if a newer event had come in between this one would be stale, and the same
// state twice is as good as once.
func (w *worker) copy(ctx context.Context, claim *client.Claim, r reflection) (client.Result, error) {
	if err := w.reach(report{At: pointClaimed, TakenOver: claim.Takeover != nil}); err != nil {
		return client.Result{}, err
	}
	time.Sleep(effort)
	if ctx.Err() != nil {
		return client.Result{}, context.Cause(ctx)
	}
	if err := w.mirror.write(r); err != nil {
		return client.Result{}, err
	}
	return client.Result{}, w.reach(report{At: pointActed})
}
