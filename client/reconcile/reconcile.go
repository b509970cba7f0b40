package reconcile

import (
	"context"
	"errors"
	"sync"

	"github.com/onceward/onceward/client"
)

// DefaultConcurrency is how many entities are asked about at the same time where
// [Options] do not say.
const DefaultConcurrency = 4

// maxErrors bounds what Run remembers of a source that is down.
const maxErrors = 100

// Options say what to reconcile, and in whose name.
type Options struct {
	// Namespace is the one whose flagged entities, of all consumers, are walked.
	// Required.
	Namespace string
	// Actor is who asks, for the decision log: the job's name, up to 128 bytes.
	// Required.
	Actor string
	// Reason is why, for the decision log, up to 1 KiB. Required.
	Reason string
	// Concurrency is how many entities are asked about at the same time: what
	// the source can bear. Zero: [DefaultConcurrency].
	Concurrency int
}

// Truth is what the source says about an entity now. The zero Truth says that
// the source does not know: the entity is left as it is, flagged.
type Truth struct {
	// Version is that of the newest event, in the kind that the events have.
	// Required, except with a State in a namespace with transitions.
	Version *client.Version
	// EventID is the newest event's id, if the source tells. It decides a tie:
	// a repeat of that event is then known as applied.
	EventID string
	// State is the state that the entity is in, if the source tells. Empty: what
	// Onceward remembers stays.
	State string
}

func (t Truth) unknown() bool { return t.Version == nil && t.State == "" }

// Ask asks the source of truth about one entity. It is called from several
// goroutines, should bound its own time, and must return when ctx ends.
//
// It is also the place to mend what is stored locally, before it returns:
// ReconcileEntity, which follows, clears the flag, and after that nothing
// remembers that there is something to mend. Newer events may be handled
// meanwhile, and a worker may be at an older one, so write only if what is
// stored is not newer than what the source said, and let the workers write under
// the same condition.
//
// An error leaves the entity flagged, to be asked about again by the next Run.
type Ask func(ctx context.Context, e client.ListedEntity) (Truth, error)

// Report counts what a Run did.
type Report struct {
	// Flagged is how many entities were found. One that changes during the walk
	// may be found twice.
	Flagged int
	// Reconciled is how many were set to what the source said.
	Reconciled int
	// Stale is how many had newer events meanwhile and were left as they are.
	// That is fine: the next Run finds those that are still flagged.
	Stale int
	// Unknown is how many the source did not know. They stay flagged.
	Unknown int
	// Failed is how many could not be asked about or set. They stay flagged.
	Failed int
}

// EntityError says that one entity could not be reconciled. Its text does not
// name the entity, which may be nobody else's business.
type EntityError struct {
	// Entity is the one that stays flagged.
	Entity client.ListedEntity
	// Err is what Ask or [client.Client.ReconcileEntity] returned.
	Err error
}

func (e *EntityError) Error() string { return "reconciling an entity: " + e.Err.Error() }

// Unwrap returns Err.
func (e *EntityError) Unwrap() error { return e.Err }

// Run walks the flagged entities of a namespace, asks about each, and sets each
// to what was said, never backwards. An entity that cannot be asked about or set
// does not stop the walk.
//
// The report is of use in any case. The error joins an [EntityError] for each
// entity that failed, the first hundred of them, and whatever ended the walk
// early: the context's error, a gRPC status of
// [client.Client.ListEntities], or what is missing from the options. When ctx
// ends, entities in the middle of their turn are counted as found and nothing
// else. None of Run's goroutines is left when it returns.
func Run(ctx context.Context, c *client.Client, o Options, ask Ask) (Report, error) {
	if o.Namespace == "" || o.Actor == "" || o.Reason == "" {
		return Report{}, errors.New("reconcile: Namespace, Actor and Reason are required")
	}
	r := &run{client: c, options: o, ask: ask}
	entities := make(chan client.ListedEntity)
	var workers sync.WaitGroup
	for range o.concurrency() {
		workers.Go(func() {
			for e := range entities {
				r.handle(ctx, e)
			}
		})
	}
	ended := r.walk(ctx, entities)
	close(entities)
	workers.Wait()
	if ended == nil {
		ended = r.cutOff
	}
	return r.report, errors.Join(append(r.errs, ended)...)
}

func (o Options) concurrency() int {
	if o.Concurrency <= 0 {
		return DefaultConcurrency
	}
	return o.Concurrency
}

// run is one Run.
type run struct {
	client  *client.Client
	options Options
	ask     Ask

	mu     sync.Mutex
	report Report
	errs   []error
	cutOff error // the context's, if it ended in the middle of an entity's turn
}

// walk hands out every flagged entity. The error is what ended it early.
func (r *run) walk(ctx context.Context, entities chan<- client.ListedEntity) error {
	for e, err := range r.client.ListEntities(ctx, r.options.Namespace) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case entities <- e:
		}
	}
	return nil
}

// handle reconciles one entity and counts how it ended.
func (r *run) handle(ctx context.Context, e client.ListedEntity) {
	count, err := r.reconcile(ctx, e)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Flagged++
	switch {
	case err == nil:
		*count++
	case ctx.Err() != nil:
		r.cutOff = ctx.Err()
	default:
		r.report.Failed++
		if len(r.errs) < maxErrors {
			r.errs = append(r.errs, &EntityError{Entity: e, Err: err})
		}
	}
}

// reconcile returns the count that the entity belongs to.
func (r *run) reconcile(ctx context.Context, e client.ListedEntity) (*int, error) {
	truth, err := r.ask(ctx, e)
	if err != nil {
		return nil, err
	}
	if truth.unknown() {
		return &r.report.Unknown, nil
	}
	answer, err := r.client.ReconcileEntity(ctx, client.ReconcileEntityRequest{
		EntityRef: e.EntityRef,
		Version:   truth.Version,
		EventID:   truth.EventID,
		State:     truth.State,
		Actor:     r.options.Actor,
		Reason:    r.options.Reason,
	})
	switch {
	case err != nil:
		return nil, err
	case answer.Outcome == client.Stale:
		return &r.report.Stale, nil
	}
	return &r.report.Reconciled, nil
}
