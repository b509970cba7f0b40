package main

import (
	"encoding/json"
	"testing"
)

var (
	claimed    = decision{"CheckAndClaim", "CLAIMED"}
	inProgress = decision{"CheckAndClaim", "IN_PROGRESS"}
	newest     = decision{"ApplyIfNewer", "APPLIED"}
	stale      = decision{"ApplyIfNewer", "STALE"}
)

func TestVerdicts(t *testing.T) {
	two := json.RawMessage(`{"operations": [{"key": "a"}, {"key": "b"}]}`)
	for _, test := range []struct {
		name   string
		config config
		got    counts
		good   bool
	}{
		{"every key claimed", config{Name: "claim"}, counts{claimed: 10}, true},
		{"a key came twice", config{Name: "claim"}, counts{claimed: 9, inProgress: 1}, false},
		{"another call", config{Name: "claim"}, counts{claimed: 10, newest: 1}, false},
		{"one claimed", config{Name: "duplicate"}, counts{claimed: 1, inProgress: 9}, true},
		{"two claimed", config{Name: "duplicate"}, counts{claimed: 2, inProgress: 8}, false},
		{"none claimed", config{Name: "duplicate"}, counts{inProgress: 10}, false},
		{"batches", config{Name: "batch", Data: two}, counts{claimed: 20}, true},
		{"a batch too few", config{Name: "batch", Data: two}, counts{claimed: 18}, false},
		{"streams", config{Name: "stream", StreamCallCount: 3}, counts{claimed: 30}, true},
		{"an answer too few", config{Name: "stream", StreamCallCount: 3}, counts{claimed: 29}, false},
		{"all applied", config{Name: "apply"}, counts{newest: 10}, true},
		{"some overtaken", config{Name: "apply"}, counts{newest: 8, stale: 2}, true},
		{"most stale", config{Name: "apply"}, counts{newest: 2, stale: 8}, false},
		{"one not answered", config{Name: "apply"}, counts{newest: 8, stale: 1}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := verdicts(test.config, 10, test.got); (err == nil) != test.good {
				t.Errorf("good: %t, got %v", test.good, err)
			}
		})
	}
}

func TestParse(t *testing.T) {
	before, err := parse(`# TYPE onceward_decisions_total counter
onceward_decisions_total{namespace="",outcome="CLAIMED",rpc="CheckAndClaim"} 3
onceward_decisions_total{namespace="a",outcome="CLAIMED",rpc="CheckAndClaim"} 1
go_goroutines 9
`)
	if err != nil || before[claimed] != 4 || len(before) != 1 {
		t.Fatalf("%v, %v", before, err)
	}
	after := counts{claimed: 4, inProgress: 2}
	if diff := after.since(before); len(diff) != 1 || diff[inProgress] != 2 {
		t.Errorf("since: %v", diff)
	}
	if _, err := parse(`onceward_decisions_total{rpc="a"} many`); err == nil {
		t.Error("a count that is no number was accepted")
	}
}
