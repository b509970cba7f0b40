package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// decision is a kind of verdict that the server counts.
type decision struct{ rpc, outcome string }

// counts are how often each was given.
type counts map[decision]uint64

// since is what was counted after before.
func (c counts) since(before counts) counts {
	diff := counts{}
	for d, n := range c {
		if n -= before[d]; n > 0 {
			diff[d] = n
		}
	}
	return diff
}

// verdicts says in what the server's verdicts differ from those that calls of
// the configuration must get.
func verdicts(c config, calls uint64, got counts) error {
	operations := calls * max(c.StreamCallCount, 1)
	want := counts{{"CheckAndClaim", "CLAIMED"}: operations}
	switch c.Name {
	case "batch":
		want = counts{{"CheckAndClaim", "CLAIMED"}: operations * c.operationsPerCall()}
	case "duplicate":
		want = counts{{"CheckAndClaim", "CLAIMED"}: 1, {"CheckAndClaim", "IN_PROGRESS"}: operations - min(operations, 1)}
	case "apply":
		return applied(operations, got)
	}
	return compare(want, got)
}

// operationsPerCall counts the operations in the data of a Batch: each is one
// template for a key of its own.
func (c config) operationsPerCall() uint64 {
	return uint64(bytes.Count(c.Data, []byte(`"key"`)))
}

func compare(want, got counts) error {
	var off []error
	for d, n := range want {
		if got[d] != n {
			off = append(off, fmt.Errorf("%d %s %s, want %d", got[d], d.rpc, d.outcome, n))
		}
	}
	for d, n := range got {
		if _, ok := want[d]; !ok {
			off = append(off, fmt.Errorf("%d %s %s, want none", n, d.rpc, d.outcome))
		}
	}
	return errors.Join(off...)
}

// applied allows for calls that overtake each other: most are APPLIED, and one
// that comes after a newer one is STALE.
func applied(calls uint64, got counts) error {
	newest, stale := got[decision{"ApplyIfNewer", "APPLIED"}], got[decision{"ApplyIfNewer", "STALE"}]
	if newest == 0 || newest < stale {
		return fmt.Errorf("%d APPLIED, %d STALE: most have to be APPLIED", newest, stale)
	}
	want := counts{{"ApplyIfNewer", "APPLIED"}: newest, {"ApplyIfNewer", "STALE"}: calls - min(calls, newest)}
	return compare(want, got)
}

// parse reads onceward_decisions_total from the text of /metrics.
func parse(text string) (counts, error) {
	c := counts{}
	for line := range strings.Lines(text) {
		labels, ok := strings.CutPrefix(line, "onceward_decisions_total{")
		if !ok {
			continue
		}
		labels, value, _ := strings.Cut(labels, "} ")
		var n float64
		if _, err := fmt.Sscan(value, &n); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		c[decision{label(labels, "rpc"), label(labels, "outcome")}] += uint64(n)
	}
	return c, nil
}

func label(labels, name string) string {
	for l := range strings.SplitSeq(labels, ",") {
		if v, ok := strings.CutPrefix(l, name+"="); ok {
			return strings.Trim(v, `"`)
		}
	}
	return ""
}
