package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onceward/onceward/client"
)

// running is a server that somebody else started.
func running(t *testing.T, policies []byte) (*server, *client.Client) {
	t.Helper()
	t.Setenv("REDIS_URL", "")
	s, err := startServer(t.Context(), t.TempDir(), policies)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	c, err := client.Dial(s.target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return s, c
}

// A server that serves others too: what they have flagged is left to them, and a
// run does not meet what an earlier one has left behind.
func TestReplay_OnAServerThatRunsAlready(t *testing.T) {
	s, c := running(t, policies)
	other := client.EntityRef{Namespace: stampingSender, Consumer: "mirror/another", Entity: "ch_1"}
	for _, event := range []string{"evt_1", "evt_2"} { // a tie
		if _, err := c.Apply(t.Context(), client.ApplyRequest{
			Namespace: other.Namespace, Consumer: other.Consumer, Entity: other.Entity,
			Version: change{Created: 1767603600}.version(), EventID: event,
		}); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "deliveries.jsonl")
	var generated strings.Builder
	if err := run(t.Context(), []string{"-generate", "20", "-seed", "3"}, nil, &generated); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(generated.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got := demonstration(t, "-addr", s.target, "-file", file, "-kill", "1")
		if got["events"] != 20 || got["charges"] != 4 || got["charges as the source says"] != 4 || got["workers killed"] != 1 {
			t.Errorf("got %v", got)
		}
	}
	if e, err := c.GetEntity(t.Context(), other); err != nil || !e.GetNeedsReconcile() {
		t.Errorf("somebody else's charge is %v, %v", e, err)
	}
}

func TestReplay_RefusesAServerThatWouldNotKeepOrder(t *testing.T) {
	s, c := running(t, nil)
	err := run(t.Context(), []string{"-addr", s.target, "-run", "refused"}, nil, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "policies.yaml") {
		t.Errorf("got %v", err)
	}
	deliveries, err := load("")
	if err != nil {
		t.Fatal(err)
	}
	credits, _ := split(deliveries)
	for _, d := range credits[:20] {
		record, err := c.GetClaim(t.Context(), (&worker{run: "refused"}).claim(d).Ref())
		if err != nil || record.State != client.StateAbsent {
			t.Errorf("a delivery was made: %+v, %v", record, err)
		}
	}
}
