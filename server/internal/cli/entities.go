package cli

import (
	"context"
	"flag"
	"fmt"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

var entities = command{
	name: "entities",
	args: "-namespace NAME [-limit NUMBER]",
	does: "list the entities that need reconciling",
	about: "What is remembered of them may be wrong, because of a gap, a tie or a denied transition: ask the source\n" +
		"of truth, then see reconcile.",
	setup: setupEntities,
}

func setupEntities(fs *flag.FlagSet) action {
	q := &oncewardv1.ListEntitiesRequest{}
	l := &list[*oncewardv1.ListedEntity]{}
	namespaceFlag(fs, &q.Namespace)
	l.flags(fs, 0)
	return func(ctx context.Context, s *session) error {
		if err := need("namespace", q.Namespace); err != nil {
			return err
		}
		l.header, l.row = entityHeader, entityRow
		l.none = fmt.Sprintf("No entity in %s needs reconciling.", cell(q.Namespace))
		l.fetch = func(ctx context.Context, size int32, token string) ([]*oncewardv1.ListedEntity, string, error) {
			q.PageSize, q.PageToken = size, token
			page, err := s.admin.ListEntities(ctx, q)
			return page.GetEntities(), page.GetNextPageToken(), err
		}
		return l.run(ctx, s)
	}
}

var entityHeader = []string{"CONSUMER", "ENTITY", "WHY", "SINCE", "VERSION", "STATE", "EVENT", "MISSING"}

func entityRow(e *oncewardv1.ListedEntity) []string {
	is := e.GetState()
	return []string{
		e.GetConsumer(), e.GetEntity(), is.GetReconcileReason(), instant(is.GetFlaggedAt()),
		version(is.GetVersion()), is.GetState(), is.GetEventId(), missing(is),
	}
}
