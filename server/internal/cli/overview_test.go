package cli_test

import (
	"strings"
	"testing"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

func TestOverviewCountsWhatWaits(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.park("a", "", "p1", "")
	s.park("a", "", "p2", "")
	s.hold("a", "", "held")
	s.expire("a", "expired")
	s.gap("e")

	out := s.done("overview")
	checkText(t, out, `"inProgress":"1"`, `"parked":"2"`, `"expired":"1"`, `"needsReconcile":"1"`)
	o := parseOne[oncewardv1.GetOverviewResponse](t, out)
	if len(o.GetNamespaces()) != 2 || o.GetStore() != "embedded" || len(o.GetWarnings()) == 0 {
		t.Error(o)
	}

	table := s.done("overview", "-table")
	checkText(t, table, "NAMESPACE", "NEED RECONCILING", "store: embedded", "warning: "+o.GetWarnings()[0])
	if row := rows(table)[1]; strings.Join(row[:5], " ") != "a 1 1 2 0" {
		t.Errorf("%q", row)
	}
	if row := rows(table)[2]; strings.Join(row[:5], " ") != "gaps 0 0 0 1" {
		t.Errorf("%q", row)
	}
}

func TestOverviewOfOneNamespace(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.hold("a", "", "k")
	s.hold("b", "", "k")
	o := parseOne[oncewardv1.GetOverviewResponse](t, s.done("overview", "-namespace", "b"))
	if n := o.GetNamespaces(); len(n) != 1 || n[0].GetNamespace() != "b" {
		t.Error(o)
	}
	checkText(t, s.done("overview", "-table", "-namespace", "c"), "Nothing waits.\n", "store: ")
	s.refused(1, []string{"[FIELD_INVALID]"}, "overview", "-namespace", "a b")
}
