package cli_test

import (
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"google.golang.org/protobuf/types/known/durationpb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// hostile clears the screen, changes the window's title, fakes a row, moves back
// in its own line and turns the direction of writing.
const hostile = "evt\x1b[2J\x1b]0;title\x07\nledger\tevt_2\r\v\f\x7f\x00\u009b31m\u202e\u2028\u200b\U000e0001\u00a0end"

// checkPrintable holds that nothing of a text but line feeds can move a cursor.
func checkPrintable(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("%q is in %q", r, text)
		}
	}
}

func TestWhatComesFromOutsideCannotReachTheTerminal(t *testing.T) {
	t.Parallel()
	s := start(t)
	v := s.claim(&oncewardv1.CheckAndClaimRequest{
		Namespace: "orders", Key: hostile, Owner: hostile, Lease: durationpb.New(time.Hour),
		Order: &oncewardv1.Order{Entity: hostile, Version: sequence(1), State: "pending"},
	})
	_, err := s.worker.Release(t.Context(), &oncewardv1.ReleaseRequest{
		Namespace: "orders", Key: hostile, Entity: hostile, FencingToken: v.GetFencingToken(), Park: true, Reason: hostile,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.tie("a", hostile)
	quoted := strconv.Quote(hostile)

	for _, c := range []struct {
		args   string
		quoted int // how many cells of a row
	}{
		{"claims -namespace orders", 4},
		{"entities -namespace a", 1},
		{"decisions -namespace a", 2},
	} {
		table := s.done(append(strings.Fields(c.args), "-table")...)
		checkPrintable(t, table)
		if lines := strings.Count(table, "\n"); lines != 2 {
			t.Errorf("%s: %d lines:\n%s", c.args, lines, table)
		}
		if n := strings.Count(table, quoted); n != c.quoted {
			t.Errorf("%s: %d quoted cells, want %d:\n%s", c.args, n, c.quoted, table)
		}
		out := s.done(strings.Fields(c.args)...)
		checkPrintable(t, out)
		checkLine(t, out)
	}
	c := parseOne[oncewardv1.Claim](t, s.done("claims", "-namespace", "orders"))
	if c.GetKey() != hostile || c.GetReason() != hostile {
		t.Errorf("%q is not what was sent", c.GetKey())
	}
}

func TestSentencesAreSafeToo(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := strings.ReplaceAll(hostile, "\x00", "") // no argument can hold it
	s.park("a", "", key, "")
	for _, args := range [][]string{
		{"resolve", "-namespace", "a", "-key", key, "-not-done"},
		{"forget", "claim", "-namespace", "a", "-key", key},
		{"forget", "claim", "-namespace", "a", "-part", key},
		{"reconcile", "-namespace", "a", "-entity", key, "-sequence", "7", "-state", "x\x1by"},
		{"forget", "entity", "-namespace", "a", "-entity", key},
	} {
		out := s.done(append(args, "-table", "-reason", key)...)
		checkPrintable(t, out)
		checkLine(t, out, `evt\x1b[2J`)
	}
	if state := s.state("a", "", key); state != oncewardv1.ClaimState_CLAIM_STATE_ABSENT {
		t.Errorf("the key did not arrive as it is: %v", state)
	}
}
