package cli_test

import (
	"os/user"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

func TestDecisionsShowWhoAndWhy(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.park("a", "", "k", "unsure")
	s.done("resolve", "-namespace", "a", "-key", "k", "-not-done", "-reason", "asked the bank")
	s.done("forget", "claim", "-namespace", "a", "-key", "k", "-reason", "test event", "-actor", "grace")
	s.done("reconcile", "-namespace", "a", "-entity", "e", "-sequence", "9007199254740993", "-reason", "read the ledger")

	out := s.done("decisions", "-namespace", "a")
	checkText(t, out, `"sequence":"9007199254740993"`)
	want := []struct{ rpc, subject, actor, reason string }{ // newest first
		{"ReconcileEntity", "e", "ada", "read the ledger"},
		{"ForgetClaim", "k", "grace", "test event"},
		{"ResolveClaim", "k", "ada", "asked the bank"},
	}
	got := parse[oncewardv1.Decision](t, out)
	table := rows(s.done("decisions", "-table", "-namespace", "a"))
	if len(got) != len(want) || len(table) != len(want)+1 {
		t.Fatalf("%s\n%q", out, table)
	}
	for i, w := range want {
		d := got[i]
		if d.GetRpc() != w.rpc || d.GetSubject() != w.subject || d.GetActor() != w.actor || d.GetReason() != w.reason {
			t.Errorf("%d: %v, want %v", i, d, w)
		}
		checkText(t, strings.Join(table[i+1], "|"), w.rpc, w.subject, w.actor+"|"+w.reason)
	}
}

func TestTheActorIsTheAccountIfNobodySaysOtherwise(t *testing.T) {
	t.Parallel()
	s := start(t)
	account, err := user.Current()
	if err != nil {
		t.Skip("this account has no name: ", err)
	}
	forget := []string{"forget", "claim", "-namespace", "a", "-key", "k", "-reason", "r"}
	runWith(t, []string{"ONCEWARD_ADDR=" + s.addr}, forget...)
	if log := s.log("a"); len(log) != 1 || log[0].GetActor() != account.Username {
		t.Errorf("%v, want %s", log, account.Username)
	}
	s.refused(2, []string{"-actor is required"}, append(forget, "-actor", "")...)
	s.refused(2, []string{"-actor", "not UTF-8"}, append(forget, "-actor", "\xff")...)
}

func TestDecisionsAboutOneThing(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, forget := range []string{"claim -namespace a -key k", "claim -namespace a -key l", "claim -namespace a -consumer c -key k",
		"entity -namespace a -entity k", "claim -namespace orders -entity o -key k", "entity -namespace orders -entity o"} {
		s.done(strings.Fields("forget " + forget + " -reason r")...)
	}
	for args, want := range map[string]int{
		"-namespace a":                       4,
		"-namespace a -consumer c":           1,
		"-namespace a -key k":                1,
		"-namespace a -consumer c -key k":    1,
		"-namespace a -entity k":             1,
		"-namespace a -key m":                0,
		"-namespace orders":                  2,
		"-namespace orders -entity o":        2,
		"-namespace orders -entity o -key k": 1,
	} {
		out := s.done(append([]string{"decisions"}, strings.Fields(args)...)...)
		if n := strings.Count(out, "\n"); n != want {
			t.Errorf("%s: %d decisions, want %d:\n%s", args, n, want, out)
		}
	}
	checkText(t, s.done("decisions", "-table", "-namespace", "a", "-key", "m"), "The log has no such decision in a.")
	s.refused(1, []string{"entity", "[FIELD_INVALID]"}, "decisions", "-namespace", "orders", "-key", "k")
	s.refused(2, []string{"-namespace is required"}, "decisions")
}

func TestDecisionsShowsFiftyUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	s := start(t)
	const all = 230 // more than a page
	s.claim(&oncewardv1.CheckAndClaimRequest{Namespace: "a", Key: "k", Lease: durationpb.New(time.Hour)})
	for i := range all {
		s.claim(&oncewardv1.CheckAndClaimRequest{Namespace: "a", Key: "k", Owner: strconv.Itoa(i)}) // IN_PROGRESS
	}
	for args, want := range map[string]int{"": 50, "-limit 0": all, "-limit 7": 7, "-limit 220": 220} {
		out := s.done(append([]string{"decisions", "-namespace", "a"}, strings.Fields(args)...)...)
		owners := map[string]bool{}
		for _, d := range parse[oncewardv1.Decision](t, out) {
			owners[d.GetOwner()] = true
		}
		if len(owners) != want {
			t.Errorf("%q: %d decisions, want %d", args, len(owners), want)
		}
	}
	r := s.run("decisions", "-table", "-namespace", "a")
	checkLine(t, r.stderr, "There are more: -limit is 50.")
}
