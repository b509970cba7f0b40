package onceward

import (
	"context"
	"time"
)

// Shadow mode watches what a namespace would decide without letting it decide.
// Every call is evaluated in full on records of its own, which no real call ever
// meets, and answered as if there were no Onceward: claimed, applied, settled.
// The truth stands beside the answer.

// shadowed is the namespace that a shadow's records live in. A colon is in no
// namespace's name.
func shadowed(namespace string) string { return "shadow:" + namespace }

// shadowClaim answers CLAIMED whatever the store says. A claim that is not really
// the caller's gets a token that no record has.
func (s *Service) shadowClaim(ctx context.Context, q *CheckAndClaimRequest) (ClaimVerdict, error) {
	real := q.Namespace
	q.Namespace, q.Wait = shadowed(real), Duration{}
	v, err := s.store.CheckAndClaim(ctx, q)
	q.Namespace = real
	now := time.Now()
	if err != nil {
		why, err := degraded(err)
		return ClaimVerdict{Outcome: Claimed, Token: nextToken(0, now), Attempt: 1, Degraded: why}, err
	}
	v.Shadow = v.Outcome
	if v.Outcome == Claimed {
		return v, nil
	}
	return ClaimVerdict{Outcome: Claimed, Shadow: v.Shadow, Token: nextToken(0, now), Attempt: max(1, v.Attempt), FirstClaimedAt: v.FirstClaimedAt}, nil
}

// shadowApply answers APPLIED whatever the store says.
func (s *Service) shadowApply(ctx context.Context, q *ApplyIfNewerRequest) (ApplyVerdict, error) {
	real := q.Namespace
	q.Namespace = shadowed(real)
	v, err := s.store.ApplyIfNewer(ctx, q)
	q.Namespace = real
	if err != nil {
		why, err := degraded(err)
		return ApplyVerdict{Outcome: Applied, Degraded: why}, err
	}
	v.Shadow, v.Outcome = v.Outcome, Applied
	return v, nil
}

// shadowSettle answers OK whatever the store says.
func shadowSettle(v Settlement, err error) (Settlement, error) {
	if err != nil || v.Outcome != OK {
		return Settlement{Outcome: OK, State: v.State}, nil
	}
	return v, nil
}

// degraded is why an answer was given without the store. What the caller did
// wrong stays an error: he is here to find out.
func degraded(err error) (why string, _ error) {
	e, ok := err.(*Error)
	if !ok || e.Cause == nil {
		return "", err
	}
	return e.Message, nil
}

// truth is what was decided: the shadow's outcome where there is one.
func truth[T ClaimOutcome | ApplyOutcome](outcome, shadow T) T {
	if shadow != 0 {
		return shadow
	}
	return outcome
}
