package cli

import (
	"context"
	"flag"
	"fmt"
	"strconv"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

var overview = command{
	name:  "overview",
	args:  "[-namespace NAME]",
	does:  "count what waits, and say how the store is doing",
	about: "Without -namespace it counts in all namespaces that you may see.",
	setup: setupOverview,
}

func setupOverview(fs *flag.FlagSet) action {
	q := &oncewardv1.GetOverviewRequest{}
	namespaceFlag(fs, &q.Namespace)
	return func(ctx context.Context, s *session) error {
		ctx, cancel := s.call(ctx)
		defer cancel()
		o, err := s.admin.GetOverview(ctx, q)
		if err != nil {
			return err
		}
		if s.json {
			return s.printJSON(o)
		}
		return s.printOverview(o)
	}
}

func (s *session) printOverview(o *oncewardv1.GetOverviewResponse) error {
	t := table{header: []string{"NAMESPACE", "IN PROGRESS", "EXPIRED", "PARKED", "NEED RECONCILING", "OLDEST IN PROGRESS", "OLDEST TO RECONCILE"}}
	for _, n := range o.GetNamespaces() {
		t.rows = append(t.rows, []string{
			n.GetNamespace(), number(n.GetInProgress()), number(n.GetExpired()), number(n.GetParked()), number(n.GetNeedsReconcile()),
			age(n.GetOldestInProgress()), age(n.GetOldestNeedsReconcile()),
		})
	}
	if len(t.rows) == 0 {
		fmt.Fprintln(s.stdout, "Nothing waits.")
	} else if err := s.printTable(&t); err != nil {
		return err
	}
	for _, warning := range o.GetWarnings() {
		fmt.Fprintln(s.stdout, "warning:", oneLine(warning))
	}
	_, err := fmt.Fprintln(s.stdout, "store:", oneLine(o.GetStore()))
	return err
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
