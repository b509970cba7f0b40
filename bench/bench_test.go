package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the test's own binary be the children that the bench starts.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		fatal(serve(role))
	}
	os.Exit(m.Run())
}

// TestEveryScenarioRuns runs all of them for a moment, on real processes, and
// looks at what is written down.
func TestEveryScenarioRuns(t *testing.T) {
	file, drawing := filepath.Join(t.TempDir(), "out.json"), filepath.Join(t.TempDir(), "out.svg")
	if err := run(t.Context(), []string{"-rounds", "1", "-duration", "100ms", "-warmup", "50ms", "-json", file, "-svg", drawing}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Scenarios) != len(scenarios) || len(r.Bounds) == 0 {
		t.Fatalf("%d scenarios, %d bounds", len(r.Scenarios), len(r.Bounds))
	}
	for _, s := range r.Scenarios {
		if len(s.Samples) != 1 || s.Samples[0].PerSecond <= 0 || s.Samples[0].P99 <= 0 {
			t.Errorf("%s: %+v", s.Name, s.Samples)
		}
	}
	svg, err := os.ReadFile(drawing)
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheOtherStagesRun(t *testing.T) {
	if err := run(t.Context(), []string{"-keys", "-sizes", "100,2000", "-rounds", "1", "-duration", "50ms", "-warmup", "10ms"}); err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), []string{"-soak", "1s"}); err != nil {
		t.Error(err)
	}
}

func TestRatiosAreTakenWithinARound(t *testing.T) {
	of := func(rates ...float64) (out []sample) {
		for _, r := range rates {
			out = append(out, sample{PerSecond: r})
		}
		return out
	}
	all := []series{{"claim", of(5, 50, 6)}, {"echo", of(10, 100, 10)}}
	if got := ratio(all, "claim", "echo", rate); got != (spread{0.5, 0.5, 0.6}) {
		t.Errorf("got %+v", got)
	}
	if b := atLeast("x", 0.6, spread{Median: 0.5}); b.Met {
		t.Error("a bound that is missed counts as met")
	}
}
