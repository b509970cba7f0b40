package main

import (
	"context"
	"sync"

	"github.com/onceward/onceward/client"
	"github.com/onceward/onceward/client/reconcile"
)

// source plays the system that the charges are in, the only one that knows: the
// last event of each charge, sent or not, by its own clock and not by what it
// tells of it.
type source map[string]Delivery

func newSource(changes []Delivery) source {
	s := source{}
	for _, d := range changes {
		if last, known := s[d.charge()]; !known || d.CreatedAt.After(last.CreatedAt) {
			s[d.charge()] = d
		}
	}
	return s
}

// mending is what was found flagged after the last delivery, and made good.
type mending struct {
	missing    uint64 // sequences that never came
	reconciled int
	flagged    int // still, afterwards
}

// mender asks the source about the flagged charges of one run.
type mender struct {
	onceward *client.Client
	source   source
	mirror   mirror
	consumer string

	mu   sync.Mutex
	done mending
}

// mend reconciles the charges of both senders, and looks whether that was all.
func (m *mender) mend(ctx context.Context) (mending, error) {
	for _, sender := range []string{countingSender, stampingSender} {
		report, err := reconcile.Run(ctx, m.onceward, reconcile.Options{
			Namespace: sender,
			Actor:     "replay",
			Reason:    "the deliveries are over",
		}, m.ask)
		if err != nil {
			return m.done, err
		}
		m.done.reconciled += report.Reconciled
		for e, err := range m.onceward.ListEntities(ctx, sender) {
			if err != nil {
				return m.done, err
			}
			m.done.flagged += one(e.Consumer == m.consumer)
		}
	}
	return m.done, nil
}

// ask is told of a flagged charge, mends the mirror, and says what is true. That
// the mirror may simply be written to is because no worker is left.
func (m *mender) ask(_ context.Context, e client.ListedEntity) (reconcile.Truth, error) {
	last, known := m.source[e.Namespace+"/"+e.Entity]
	if !known || e.Consumer != m.consumer {
		return reconcile.Truth{}, nil // another run's
	}
	m.count(e.State)
	c, err := last.change()
	if err != nil {
		return reconcile.Truth{}, err
	}
	truth := reconcile.Truth{Version: c.version(), EventID: last.EventID, State: c.Status}
	return truth, m.mirror.write(last.reflect(c))
}

func (m *mender) count(e *client.EntityState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range e.GetMissing() {
		m.done.missing += r.GetLast() - r.GetFirst() + 1
	}
}

// consumer is whose copy of the charges a run makes.
func consumer(run string) string { return "mirror/" + run }
