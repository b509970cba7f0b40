package cli_test

import (
	"fmt"
	"strings"
	"testing"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

func TestEntitiesListsWhatNeedsReconciling(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.gap("order-1")
	s.tie("gaps", "order-2")
	s.apply("gaps", "well", sequence(1), "")

	out := s.done("entities", "-namespace", "gaps")
	checkText(t, out, `"missing":[{"first":"2","last":"4"}]`, `"sequence":"3"`)
	why := map[string]string{}
	for _, e := range parse[oncewardv1.ListedEntity](t, out) {
		why[e.GetEntity()] = e.GetState().GetReconcileReason()
	}
	if fmt.Sprint(why) != "map[order-1:gap order-2:tie]" {
		t.Error(why)
	}

	table := s.done("entities", "-table", "-namespace", "gaps")
	checkText(t, table, "CONSUMER", "ledger", "WHY", "tie", "MISSING", "2-4")
	if n := strings.Count(table, "\n"); n != 3 {
		t.Errorf("%d lines, want 3:\n%s", n, table)
	}
}

func TestEntitiesReadsAllPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	const all = 230 // more than a page
	for i := range all {
		s.tie("a", fmt.Sprintf("entity-%d", i))
	}
	names := map[string]bool{}
	for _, e := range parse[oncewardv1.ListedEntity](t, s.done("entities", "-namespace", "a")) {
		names[e.GetEntity()] = true
	}
	if len(names) != all {
		t.Errorf("%d entities, want %d", len(names), all)
	}
	if n := strings.Count(s.done("entities", "-namespace", "a", "-limit", "210"), "\n"); n != 210 {
		t.Errorf("-limit 210 gives %d", n)
	}
}

func TestNoEntities(t *testing.T) {
	t.Parallel()
	s := start(t)
	if out := s.done("entities", "-namespace", "a"); out != "" {
		t.Errorf("JSON: %q", out)
	}
	if out := s.done("entities", "-table", "-namespace", "a"); out != "No entity in a needs reconciling.\n" {
		t.Errorf("table: %q", out)
	}
	s.refused(2, []string{"-namespace is required"}, "entities")
}
