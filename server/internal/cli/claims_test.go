package cli_test

import (
	"fmt"
	"strings"
	"testing"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

func TestClaimsAreListedByState(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.park("a", "ledger", "parked", "card refused")
	s.park("other", "", "elsewhere", "")
	s.hold("a", "", "held")
	s.expire("a", "expired")

	for state, key := range map[string]string{"parked": "parked", "in-progress": "held", "expired": "expired"} {
		c := parseOne[oncewardv1.Claim](t, s.done("claims", "-namespace", "a", "-state", state))
		want := oncewardv1.ClaimState_value["CLAIM_STATE_"+strings.ToUpper(strings.ReplaceAll(state, "-", "_"))]
		if c.GetKey() != key || int32(c.GetState()) != want {
			t.Errorf("-state %s: %v", state, c)
		}
		table := s.done("claims", "-table", "-namespace", "a", "-state", state)
		if lines := strings.Count(table, "\n"); lines != 2 {
			t.Errorf("-state %s: %d lines:\n%s", state, lines, table)
		}
		checkText(t, table, "KEY", "FIRST CLAIMED", key, "worker-1")
		if hasLease := strings.Contains(table, "LEASE ENDS"); hasLease == (state == "parked") {
			t.Errorf("-state %s: a lease: %t\n%s", state, hasLease, table)
		}
	}
}

func TestClaimsThatAreParkedAreTheDefault(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.park("a", "ledger", "evt_1", "card refused")
	s.hold("a", "", "held")

	line := s.done("claims", "-namespace", "a")
	checkText(t, line, `"fencingToken":"`, `"owner":"worker-1"`, `"effectStarted":false`)
	if c := parseOne[oncewardv1.Claim](t, line); c.GetReason() != "card refused" || c.GetAttempt() != 1 {
		t.Error(c)
	}
	table := rows(s.done("claims", "-table", "-namespace", "a"))
	if header := strings.Join(table[0], "|"); header != "CONSUMER|KEY|ATTEMPT|OWNER|FIRST CLAIMED|KEPT UNTIL|REASON" {
		t.Error(header)
	}
	if row := table[1]; row[0] != "ledger" || row[1] != "evt_1" || row[2] != "1" || row[6] != "card refused" {
		t.Errorf("%q", row)
	}
}

func TestClaimsReadsAllPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	const all = 450 // more than two pages
	for i := range all {
		s.park("a", "", fmt.Sprintf("key-%d", i), "")
	}
	keys := map[string]bool{}
	for _, c := range parse[oncewardv1.Claim](t, s.done("claims", "-namespace", "a")) {
		keys[c.GetKey()] = true
	}
	if len(keys) != all {
		t.Errorf("%d claims, want %d", len(keys), all)
	}
	if n := len(rows(s.done("claims", "-table", "-namespace", "a"))); n != all+1 {
		t.Errorf("a table of %d lines, want %d", n, all+1)
	}
	if n := strings.Count(s.done("claims", "-namespace", "a", "-limit", "250"), "\n"); n != 250 {
		t.Errorf("-limit 250 gives %d", n)
	}
	r := s.run("claims", "-table", "-namespace", "a", "-limit", "3")
	if n := len(rows(r.stdout)); n != 4 || r.code != 0 {
		t.Errorf("-limit 3: exit code %d\n%s", r.code, r.stdout)
	}
	checkLine(t, r.stderr, "There are more", "3")
	s.done("claims", "-table", "-namespace", "a", "-limit", fmt.Sprint(all)) // no more: nothing on stderr
}

func TestNoClaims(t *testing.T) {
	t.Parallel()
	s := start(t)
	if out := s.done("claims", "-namespace", "a"); out != "" {
		t.Errorf("JSON: %q", out)
	}
	if out := s.done("claims", "-table", "-namespace", "a", "-state", "in-progress"); out != "No claim in a is in progress.\n" {
		t.Errorf("table: %q", out)
	}
}

func TestClaimsRefuses(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.refused(2, []string{"-namespace is required", "onceward claims -h"}, "claims")
	s.refused(2, []string{"-state", "parked"}, "claims", "-namespace", "a", "-state", "completed")
	s.refused(2, []string{"-limit"}, "claims", "-namespace", "a", "-limit", "-1")
	s.refused(2, []string{`"extra"`}, "claims", "-namespace", "a", "extra")
	s.refused(1, []string{"INVALID_ARGUMENT", "not valid", "namespace: ", "[FIELD_INVALID]"}, "claims", "-namespace", "a b")
}
