package cli

import (
	"context"
	"flag"
	"fmt"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

var decisions = command{
	name: "decisions",
	args: "-namespace NAME [-consumer NAME] [-key KEY] [-entity NAME] [-limit NUMBER]",
	does: "show the decision log, newest first",
	about: "What is in it depends on the namespace's audit; operators' acts always are. Old entries are dropped.\n" +
		"With -key only what was decided about that claim, with -entity about that entity and claims in it.\n" +
		"A claim of a namespace with routing: entity needs both.",
	setup: setupDecisions,
}

func setupDecisions(fs *flag.FlagSet) action {
	q := &oncewardv1.ListDecisionsRequest{}
	l := &list[*oncewardv1.Decision]{}
	namespaceFlag(fs, &q.Namespace)
	fs.Var((*text)(&q.Consumer), "consumer", "`name` of the consumer; with -key or -entity empty is a consumer of its own")
	fs.Var((*text)(&q.Key), "key", "only about this `key`, given or derived")
	fs.Var((*text)(&q.Entity), "entity", "only about this entity's `name`")
	l.flags(fs, 50)
	return func(ctx context.Context, s *session) error {
		if err := need("namespace", q.Namespace); err != nil {
			return err
		}
		l.header, l.row = decisionHeader, decisionRow
		l.none = fmt.Sprintf("The log has no such decision in %s.", cell(q.Namespace))
		l.fetch = func(ctx context.Context, size int32, token string) ([]*oncewardv1.Decision, string, error) {
			q.PageSize, q.PageToken = size, token
			page, err := s.admin.ListDecisions(ctx, q)
			return page.GetDecisions(), page.GetNextPageToken(), err
		}
		return l.run(ctx, s)
	}
}

var decisionHeader = []string{"TIME", "CALL", "OUTCOME", "CONSUMER", "ENTITY", "SUBJECT", "VERSION", "EVENT", "ATTEMPT", "OWNER", "ACTOR", "REASON"}

func decisionRow(d *oncewardv1.Decision) []string {
	return []string{
		instant(d.GetDecidedAt()), d.GetRpc(), d.GetOutcome(), d.GetConsumer(), d.GetEntity(), d.GetSubject(),
		version(d.GetVersion()), d.GetEventId(), count(d.GetAttempt()), d.GetOwner(), d.GetActor(), d.GetReason(),
	}
}
