package cli

import (
	"context"
	"flag"
	"fmt"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

var claims = command{
	name: "claims",
	args: "-namespace NAME [-state STATE] [-limit NUMBER]",
	does: "list the claims that are parked, expired or in progress",
	about: "parked: set aside for an operator, see resolve and forget claim. expired: the lease is over and\n" +
		"nobody has taken over, so its worker has probably died and the sender has not come again.\n" +
		"in-progress: the lease is running.",
	setup: setupClaims,
}

// listable are the states that can be listed, as -state has them.
var listable = map[string]oncewardv1.ClaimState{
	"in-progress": oncewardv1.ClaimState_CLAIM_STATE_IN_PROGRESS,
	"expired":     oncewardv1.ClaimState_CLAIM_STATE_EXPIRED,
	"parked":      oncewardv1.ClaimState_CLAIM_STATE_PARKED,
}

func setupClaims(fs *flag.FlagSet) action {
	q := &oncewardv1.ListClaimsRequest{}
	l := &list[*oncewardv1.Claim]{}
	namespaceFlag(fs, &q.Namespace)
	state := fs.String("state", "parked", "`state` of the claims: in-progress, expired or parked")
	l.flags(fs, 0)
	return func(ctx context.Context, s *session) error {
		q.State = listable[*state]
		if q.State == oncewardv1.ClaimState_CLAIM_STATE_UNSPECIFIED {
			return usageError(fmt.Sprintf("-state is %q, must be in-progress, expired or parked", *state))
		}
		if err := need("namespace", q.Namespace); err != nil {
			return err
		}
		l.header, l.row = claimHeader, claimRow
		l.none = fmt.Sprintf("No claim in %s is %s.", cell(q.Namespace), stateName(q.State))
		l.fetch = func(ctx context.Context, size int32, token string) ([]*oncewardv1.Claim, string, error) {
			q.PageSize, q.PageToken = size, token
			page, err := s.admin.ListClaims(ctx, q)
			return page.GetClaims(), page.GetNextPageToken(), err
		}
		return l.run(ctx, s)
	}
}

var claimHeader = []string{"CONSUMER", "ENTITY", "KEY", "ATTEMPT", "OWNER", "EFFECT STARTED", "FIRST CLAIMED", "LEASE ENDS", "KEPT UNTIL", "REASON"}

func claimRow(c *oncewardv1.Claim) []string {
	return []string{
		c.GetConsumer(), c.GetEntity(), c.GetKey(), count(c.GetAttempt()), c.GetOwner(), yes(c.GetEffectStarted()),
		instant(c.GetFirstClaimedAt()), instant(c.GetLeaseExpiresAt()), instant(c.GetRetainedUntil()), c.GetReason(),
	}
}
