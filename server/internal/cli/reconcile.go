package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

var reconcile = command{
	name: "reconcile",
	args: "-namespace NAME [-consumer NAME] -entity NAME (-sequence N | -timestamp TIME | -decimal DIGITS) -reason TEXT",
	does: "set an entity to what the source of truth says",
	about: "The flag is cleared, and so are the holes up to this version. A version older than the watermark changes\n" +
		"nothing and is a failure, unless -allow-backwards is given. Only an entity that has no version, because\n" +
		"its events have none, is set by -state alone.",
	setup: setupReconcile,
}

func setupReconcile(fs *flag.FlagSet) action {
	q := &oncewardv1.ReconcileEntityRequest{}
	ref := entityRef{&q.Namespace, &q.Consumer, &q.Entity}
	var v versionFlags
	ref.flags(fs)
	v.flags(fs)
	fs.Var((*text)(&q.EventId), "event-id", "`id` of the event that the version came from")
	fs.Var((*text)(&q.State), "state", "`state` that the source tells")
	fs.BoolVar(&q.AllowBackwards, "allow-backwards", false, "let the watermark go back, or change to another kind of version; events that were stale become new again")
	reasonFlag(fs, &q.Reason)
	return func(ctx context.Context, s *session) (err error) {
		if err := ref.check(); err != nil {
			return err
		}
		if q.Version, err = v.version(q.State != ""); err != nil {
			return err
		}
		if err := s.act(&q.Actor, q.Reason); err != nil {
			return err
		}
		ctx, cancel := s.call(ctx)
		defer cancel()
		answer, err := s.admin.ReconcileEntity(ctx, q)
		if err != nil {
			return err
		}
		return s.reconciled(ref, answer)
	}
}

// reconciled shows what became of it. Anything but APPLIED has not set the
// entity, so that a script must not go on as if it had.
func (s *session) reconciled(ref entityRef, answer *oncewardv1.ReconcileEntityResponse) error {
	now := answer.GetCurrent()
	if answer.GetOutcome() == oncewardv1.ApplyOutcome_APPLY_OUTCOME_APPLIED {
		return s.print(answer, fmt.Sprintf("Set %s to %s%s.", ref.named(), stand(now), flagged(now)))
	}
	if s.json {
		if err := s.printJSON(answer); err != nil {
			return err
		}
	}
	if answer.GetOutcome() == oncewardv1.ApplyOutcome_APPLY_OUTCOME_STALE {
		return fmt.Errorf("STALE, nothing was changed: %s is newer, at %s (-allow-backwards sets it all the same)", ref.named(), stand(now))
	}
	return errors.New("nothing is known to have changed: the service answered " + answer.GetOutcome().String())
}

// stand is where an entity is, in a sentence.
func stand(e *oncewardv1.EntityState) string {
	version, state := version(e.GetVersion()), cell(e.GetState())
	switch {
	case version == "":
		return "state " + state
	case state == "":
		return "version " + version
	}
	return "version " + version + " and state " + state
}
