package main

import (
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
func TestReplay_CreditsOnceAndMirrorsTheSource(t *testing.T) {
	got := demonstration(t, "-workers", "6", "-kill", "8", "-seed", "7")
	deliveries, err := load("")
	if err != nil {
		t.Fatal(err)
	}
	checkCredits(t, got, len(made(deliveries)))
	checkCharges(t, got)
}

func checkCredits(t *testing.T, got map[string]int, deliveries int) {
	t.Helper()
	for row, want := range map[string]int{
		"events":                     150,
		"deliveries in the file":     deliveries,
		"workers killed":             8,
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
		"take-overs":                 4, // of each kind one died before its effect, one after it
		"credits found on take-over": 1,
		"sum expected, cents":        1,
	} {
		if got[row] < least {
			t.Errorf("%s: got %d, want at least %d", row, got[row], least)
		}
	}
}

func checkCharges(t *testing.T, got map[string]int) {
	t.Helper()
	sent, missing := 0, 0
	for _, events := range lives(t) {
		for _, d := range events {
			sent += one(!d.NeverSent)
			missing += one(d.NeverSent && d.Namespace == countingSender)
		}
	}
	for row, want := range map[string]int{
		"charges":                    30,
		"events of charges":          sent,
		"missing (holes)":            missing,
		"charges as the source says": 30,
	} {
		if got[row] != want {
			t.Errorf("%s: got %d, want %d", row, got[row], want)
		}
	}
	if sum := got["  applied"] + got["  stale"] + got["  tied"] + got["  denied"]; sum != sent {
		t.Errorf("%d verdicts on %d events", sum, sent)
	}
	for _, row := range []string{"  applied", "  stale", "  tied", "  denied", "charges reconciled"} {
		if got[row] == 0 {
			t.Errorf("%s: none", row)
		}
	}
}

var tableRow = regexp.MustCompile(`(?m)^(.*\S) +(\d+)$`)

// demonstration runs the program, against a server that it starts itself unless
// args say otherwise, and reads its table.
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
			err := account(&out, []Delivery{one, two, one}, l, newTally())
			if (err == nil) != test.fine {
				t.Errorf("got %v\n%s", err, out.String())
			}
		})
	}
}

func TestAccountCharges_ComplainsUnlessTheMirrorIsFaithful(t *testing.T) {
	event := func(id string, sequence uint64, status string) Delivery {
		c := change{Charge: "ch_1", Status: status, Sequence: sequence}
		return Delivery{
			Namespace: countingSender, EventID: id, Entity: "ch_1", Type: "charge." + status, CreatedAt: time.Unix(int64(sequence), 0), Payload: c.payload(),
		}
	}
	old, last := event("evt_1", 1, "pending"), event("evt_2", 2, "paid")
	for name, test := range map[string]struct {
		writes  []Delivery
		flagged int
		fine    bool
	}{
		"in order":           {[]Delivery{old, last}, 0, true},
		"an old one on top":  {[]Delivery{last, old}, 0, false},
		"never written":      {nil, 0, false},
		"something flagged":  {[]Delivery{last}, 1, false},
		"another last event": {[]Delivery{event("evt_3", 2, "paid")}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := mirror(filepath.Join(t.TempDir(), "mirror"))
			for _, d := range test.writes {
				if err := m.write(d.reflect(changeOf(t, d))); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			changes := []Delivery{last, old}
			err := accountCharges(&out, changes, newSource(changes), m, newTally(), mending{flagged: test.flagged})
			if (err == nil) != test.fine {
				t.Errorf("got %v\n%s", err, out.String())
			}
		})
	}
}

func TestPlan_DealsDeathsOverCreditsAndCharges(t *testing.T) {
	deliveries, err := load("")
	if err != nil {
		t.Fatal(err)
	}
	credits, _ := split(deliveries)
	credited := map[string]bool{}
	for _, d := range credits {
		credited[d.event()] = true
	}
	got := map[bool]map[point]int{true: {}, false: {}}
	for event, place := range plan(made(deliveries), 6, 3) {
		got[credited[event]][place]++
	}
	for kind, places := range got {
		if len(places) != 3 {
			t.Errorf("deaths (credited: %v): %v", kind, places)
		}
	}
	if n := len(plan(made(deliveries), 1000, 3)); n != 150+15 {
		t.Errorf("%d deaths at most, want one for each event that is surely worked on", n)
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
