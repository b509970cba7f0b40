package main

import (
	"errors"
	"fmt"
	"time"
)

// report is what this command reads of ghz's report.
type report struct {
	Count     uint64            `json:"count"`
	RPS       float64           `json:"rps"`
	Errors    map[string]uint64 `json:"errorDistribution"`
	Statuses  map[string]uint64 `json:"statusCodeDistribution"`
	Latencies []struct {
		Percentage int           `json:"percentage"`
		Latency    time.Duration `json:"latency"`
	} `json:"latencyDistribution"`
}

// check says in what the report differs from a run in which all went well.
func (r *report) check(c config) error {
	var off []error
	for status, n := range r.Statuses {
		if status != "OK" {
			off = append(off, fmt.Errorf("%d calls ended with %s", n, status))
		}
	}
	for text, n := range r.Errors {
		off = append(off, fmt.Errorf("%d times: %s", n, text))
	}
	switch {
	case r.Count == 0:
		off = append(off, errors.New("no calls"))
	case c.Total > 0 && r.Count != c.Total:
		off = append(off, fmt.Errorf("%d calls, want %d", r.Count, c.Total))
	}
	if ok := r.Statuses["OK"]; ok != r.Count {
		off = append(off, fmt.Errorf("%d of %d calls ended with OK", ok, r.Count))
	}
	return errors.Join(off...)
}

// failed is how many calls did not end with OK.
func (r *report) failed() uint64 { return r.Count - min(r.Count, r.Statuses["OK"]) }

func (r *report) percentile(p int) time.Duration {
	for _, l := range r.Latencies {
		if l.Percentage == p {
			return round(l.Latency)
		}
	}
	return 0
}
