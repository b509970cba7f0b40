package cli

import (
	"context"
	"flag"
	"fmt"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

var forgetClaim = command{
	name: "forget claim",
	args: "-namespace NAME [-consumer NAME] (-key KEY | -part PART…) [-entity NAME] -reason TEXT",
	does: "remove a claim, so that its event is handled as if it had never come",
	about: "One in progress is removed too: its holder's token ends. Nothing to forget is no error. To let a parked\n" +
		"claim go ahead, or to record that its effect did happen, see resolve.",
	setup: setupForgetClaim,
}

func setupForgetClaim(fs *flag.FlagSet) action {
	q := &oncewardv1.ForgetClaimRequest{}
	ref := claimRef{&q.Namespace, &q.Consumer, &q.Key, &q.KeyParts, &q.Entity}
	ref.flags(fs)
	reasonFlag(fs, &q.Reason)
	return func(ctx context.Context, s *session) error {
		if err := ref.check(); err != nil {
			return err
		}
		if err := s.act(&q.Actor, q.Reason); err != nil {
			return err
		}
		ctx, cancel := s.call(ctx)
		defer cancel()
		answer, err := s.admin.ForgetClaim(ctx, q)
		if err != nil {
			return err
		}
		return s.print(answer, forgottenClaim(ref, answer.GetForgotten()))
	}
}

func forgottenClaim(ref claimRef, was *oncewardv1.Claim) string {
	if was.GetState() == oncewardv1.ClaimState_CLAIM_STATE_ABSENT {
		return fmt.Sprintf("There was no record of %s: nothing to forget.", ref.named())
	}
	return fmt.Sprintf("Forgot %s: it was %s, at attempt %d.", ref.named(), stateName(was.GetState()), was.GetAttempt())
}

var forgetEntity = command{
	name: "forget entity",
	args: "-namespace NAME [-consumer NAME] -entity NAME -reason TEXT",
	does: "remove an entity's watermark, holes and flag",
	about: "The next event is applied, however old it is. Nothing to forget is no error. To correct an entity, see\n" +
		"reconcile. A claim that belongs to an entity is removed by forget claim.",
	setup: setupForgetEntity,
}

func setupForgetEntity(fs *flag.FlagSet) action {
	q := &oncewardv1.ForgetEntityRequest{}
	ref := entityRef{&q.Namespace, &q.Consumer, &q.Entity}
	ref.flags(fs)
	reasonFlag(fs, &q.Reason)
	return func(ctx context.Context, s *session) error {
		if err := ref.check(); err != nil {
			return err
		}
		if err := s.act(&q.Actor, q.Reason); err != nil {
			return err
		}
		ctx, cancel := s.call(ctx)
		defer cancel()
		answer, err := s.admin.ForgetEntity(ctx, q)
		if err != nil {
			return err
		}
		return s.print(answer, forgottenEntity(ref, answer.GetForgotten()))
	}
}

func forgottenEntity(ref entityRef, was *oncewardv1.EntityState) string {
	switch {
	case was.GetVersion() != nil:
		return fmt.Sprintf("Forgot %s: it was at version %s%s.", ref.named(), version(was.GetVersion()), flagged(was))
	case was.GetAppliedAt() != nil || was.GetNeedsReconcile():
		return fmt.Sprintf("Forgot %s: it had no version%s.", ref.named(), flagged(was))
	}
	return fmt.Sprintf("Nothing was remembered of %s: nothing to forget.", ref.named())
}

// flagged adds to a sentence why an entity needs reconciling, and what is
// missing.
func flagged(e *oncewardv1.EntityState) string {
	if !e.GetNeedsReconcile() {
		return ""
	}
	text := ", and flagged: " + cell(e.GetReconcileReason())
	if holes := missing(e); holes != "" {
		text += ", missing " + holes
	}
	return text
}
