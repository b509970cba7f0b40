package cli_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// reconcileArgs is the command for an entity of consumer ledger.
func reconcileArgs(namespace, entity string, more ...string) []string {
	return append([]string{"reconcile", "-namespace", namespace, "-consumer", "ledger", "-entity", entity, "-reason", "asked the bank"}, more...)
}

func TestReconcileClearsTheFlag(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.gap("order-1")
	s.tie("gaps", "order-2")

	out := s.done(reconcileArgs("gaps", "order-1", "-sequence", "5", "-event-id", "e5", "-state", "paid")...)
	answer := parseOne[oncewardv1.ReconcileEntityResponse](t, out)
	if now := answer.GetCurrent(); now.GetNeedsReconcile() || now.GetEventId() != "e5" || now.GetState() != "paid" {
		t.Error(answer)
	}
	checkText(t, out, `"sequence":"5"`, `"APPLY_OUTCOME_APPLIED"`)

	sentence := s.done(append(reconcileArgs("gaps", "order-2", "-sequence", "3"), "-table")...)
	if sentence != `Set the entity "order-2" of consumer ledger in gaps to version 3.`+"\n" {
		t.Error(sentence)
	}
	if out := s.done("entities", "-namespace", "gaps"); out != "" {
		t.Errorf("still flagged: %s", out)
	}
}

func TestReconcileTellsWhatIsStillMissing(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.gap("order-1")
	sentence := s.done(append(reconcileArgs("gaps", "order-1", "-sequence", "2", "-state", "paid"), "-table")...)
	checkText(t, sentence, "version 2 and state paid, and flagged: gap, missing 3-4.")
}

func TestReconcileBackwardsOnlyIfToldSo(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.apply("a", "e", sequence(7), "e7")

	s.refused(1, []string{"STALE, nothing was changed", "version 7", "-allow-backwards"},
		append(reconcileArgs("a", "e", "-sequence", "6"), "-table")...)
	r := s.run(reconcileArgs("a", "e", "-sequence", "6")...)
	if r.code != 1 {
		t.Errorf("exit code %d", r.code)
	}
	checkLine(t, r.stderr, "STALE")
	checkLine(t, r.stdout, `"outcome":"APPLY_OUTCOME_STALE"`)
	s.refused(1, []string{"FAILED_PRECONDITION", "not possible", "[VERSION_KIND_MISMATCH]"}, reconcileArgs("a", "e", "-decimal", "8")...)
	if e := s.entity("a", "e"); e.GetEntity().GetVersion().GetSequence() != 7 {
		t.Errorf("changed: %v", e)
	}
	s.done(reconcileArgs("a", "e", "-sequence", "6", "-allow-backwards")...)
	if e := s.entity("a", "e"); e.GetEntity().GetVersion().GetSequence() != 6 {
		t.Errorf("not changed: %v", e)
	}
}

// Versions arrive digit for digit, and are shown so.
func TestReconcileTakesEveryVersion(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, v := range []struct{ args, want, shown string }{
		{"-sequence 0", `{"sequence":"0"}`, "version 0."},
		{"-sequence 010", `{"sequence":"10"}`, "version 10."},
		{"-sequence 18446744073709551615 -epoch 18446744073709551615", `{"epoch":"18446744073709551615","sequence":"18446744073709551615"}`,
			"version 18446744073709551615 epoch 18446744073709551615."},
		{"-sequence 9007199254740993 -rank -2147483648", `{"sequence":"9007199254740993","rank":-2147483648}`, "version 9007199254740993 rank -2147483648."},
		{"-timestamp 2026-01-31T12:00:00.000000001Z", `{"timestamp":"2026-01-31T12:00:00.000000001Z"}`, "version 2026-01-31T12:00:00.000000001Z."},
		{"-timestamp 2026-01-31T13:00:00+01:00 -rank 7", `{"timestamp":"2026-01-31T12:00:00Z","rank":7}`, "version 2026-01-31T12:00:00Z rank 7."},
		{"-decimal 007000000000000000000000000000000001", `{"decimal":"007000000000000000000000000000000001"}`, "version 007000000000000000000000000000000001."},
	} {
		want := &oncewardv1.Version{}
		if err := protojson.Unmarshal([]byte(v.want), want); err != nil {
			t.Fatal(err)
		}
		sentence := s.done(append(reconcileArgs("a", v.args, "-table"), strings.Fields(v.args)...)...)
		checkText(t, sentence, v.shown)
		if got := s.entity("a", v.args).GetEntity().GetVersion(); !proto.Equal(got, want) {
			t.Errorf("%s: %v, want %v", v.args, got, want)
		}
	}
}

func TestReconcileRefuses(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, bad := range []struct{ args, says string }{
		{"", "exactly one of -sequence, -timestamp and -decimal is required"},
		{"-sequence 1 -decimal 1", "exactly one of"},
		{"-sequence 1 -sequence 2", "exactly one of"},
		{"-epoch 1 -state paid", "exactly one of"},
		{"-sequence 18446744073709551616", "-sequence: value out of range"},
		{"-sequence -1", "-sequence"},
		{"-sequence 0x10", "-sequence"},
		{"-sequence 1_0", "-sequence"},
		{"-sequence 1 -rank 2147483648", "-rank: value out of range"},
		{"-sequence 1 -epoch x", "-epoch"},
		{"-timestamp 1700000000", "-timestamp: must be like 2026"},
		{"-timestamp 2026-01-31T12:00:00.0000000001Z", "finer than nanoseconds"},
		{"-sequence 1 -allow-backwards false", "unexpected argument"},
	} {
		s.refused(2, []string{bad.says, "onceward reconcile -h"}, reconcileArgs("a", "e", strings.Fields(bad.args)...)...)
	}
	s.refused(2, []string{"-entity is required"}, "reconcile", "-namespace", "a", "-sequence", "1", "-reason", "r")
	s.refused(1, []string{"[VERSION_UNIT]", "2000"}, reconcileArgs("a", "e", "-timestamp", "1999-12-31T23:59:59Z")...)
	s.refused(1, []string{"version.decimal", "[FIELD_INVALID]"}, reconcileArgs("a", "e", "-decimal", "1x")...)
	if s.entity("a", "e").GetFound() {
		t.Error("something was set")
	}
}

// An entity whose events have no versions is set by its state alone.
func TestReconcileByStateAlone(t *testing.T) {
	t.Parallel()
	s := start(t)
	sentence := s.done(append(reconcileArgs("orders", "o", "-state", "refunded"), "-table")...)
	checkText(t, sentence, "to state refunded.")
	if e := s.entity("orders", "o").GetEntity(); e.GetState() != "refunded" || e.GetVersion() != nil {
		t.Error(e)
	}
	s.refused(1, []string{"version: is required", "[FIELD_INVALID]"}, reconcileArgs("a", "e", "-state", "paid")...)
}
