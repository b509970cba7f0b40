package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The whole demonstration, as a user runs it.
func TestReplay_CreditsEveryEventOnce(t *testing.T) {
	got := demonstration(t, "-workers", "6", "-kill", "5", "-seed", "7")
	for row, want := range map[string]int{
		"events":                     150,
		"deliveries in the file":     len(bytes.Split(bytes.TrimSpace(shipped), []byte("\n"))),
		"workers killed":             5,
		"effects per event, min":     1,
		"effects per event, max":     1,
		"completions found recorded": got["replies lost: complete"],
		"sum in ledger, cents":       got["sum expected, cents"],
	} {
		if got[row] != want {
			t.Errorf("%s: got %d, want %d", row, got[row], want)
		}
	}
	for row, least := range map[string]int{
		"deliveries made":            got["deliveries in the file"] + got["workers killed"] + got["in progress answered"],
		"claims":                     150 + got["take-overs"],
		"replies lost: claim":        1,
		"replies lost: complete":     1,
		"replies lost: ack":          1,
		"re-entries":                 1,
		"duplicates answered":        1,
		"take-overs":                 2, // one died before its credit, one after it
		"credits found on take-over": 1,
		"sum expected, cents":        1,
	} {
		if got[row] < least {
			t.Errorf("%s: got %d, want at least %d", row, got[row], least)
		}
	}
}

var tableRow = regexp.MustCompile(`(?m)^(.*\S) +(\d+)$`)

// demonstration runs the program against a server that it starts itself, and
// reads its table.
func demonstration(t *testing.T, args ...string) map[string]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	binary := filepath.Join(t.TempDir(), "replay")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "REDIS_URL=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	table := map[string]int{}
	for _, row := range tableRow.FindAllStringSubmatch(string(out), -1) {
		if table[row[1]], err = strconv.Atoi(row[2]); err != nil {
			t.Fatal(err)
		}
	}
	if t.Failed() || testing.Verbose() {
		t.Logf("\n%s", out)
	}
	return table
}

func TestAccount_ComplainsUnlessEveryEventWasCreditedOnce(t *testing.T) {
	one := Delivery{Namespace: "n", EventID: "evt_1", Payload: []byte(`{"amount":"100"}`)}
	two := Delivery{Namespace: "n", EventID: "evt_2", Payload: []byte(`{"amount":250}`)}
	for name, test := range map[string]struct {
		credits []credit
		fine    bool
	}{
		"once each":      {[]credit{{Event: "n/evt_1", Cents: 100}, {Event: "n/evt_2", Cents: 250}}, true},
		"one missing":    {[]credit{{Event: "n/evt_1", Cents: 100}}, false},
		"one twice":      {[]credit{{Event: "n/evt_1", Cents: 100}, {Event: "n/evt_2", Cents: 250}, {Event: "n/evt_1", Cents: 100}}, false},
		"wrong amount":   {[]credit{{Event: "n/evt_1", Cents: 250}, {Event: "n/evt_2", Cents: 250}}, false},
		"nobody sent it": {[]credit{{Event: "n/evt_1", Cents: 100}, {Event: "n/evt_2", Cents: 250}, {Event: "n/evt_3", Cents: 1}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := ledger(filepath.Join(t.TempDir(), "ledger"))
			for _, c := range test.credits {
				if err := l.append(c); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			err := account(&out, []Delivery{one, two, one}, l, tally{})
			if (err == nil) != test.fine {
				t.Errorf("got %v\n%s", err, out.String())
			}
		})
	}
}

func TestParse_RefusesNonsense(t *testing.T) {
	for _, args := range [][]string{
		{"-workers", "0"}, {"-kill", "-1"}, {"-run", "a/b"}, {"-run", strings.Repeat("x", 25)}, {"left", "over"},
	} {
		if err := run(t.Context(), args, strings.NewReader(""), io.Discard); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}
