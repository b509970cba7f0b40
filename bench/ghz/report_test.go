package main

import (
	"encoding/json"
	"testing"
)

func TestCheck(t *testing.T) {
	const total, duration = 100, 0
	for _, test := range []struct {
		name, report string
		total        uint64
		good         bool
	}{
		{"all went well", `{"count": 100, "errorDistribution": {}, "statusCodeDistribution": {"OK": 100}}`, total, true},
		{"another status", `{"count": 100, "statusCodeDistribution": {"OK": 99, "Unavailable": 1}}`, total, false},
		{"only another status", `{"count": 100, "statusCodeDistribution": {"Unavailable": 100}}`, total, false},
		{"an error", `{"count": 100, "errorDistribution": {"eof": 1}, "statusCodeDistribution": {"OK": 100}}`, total, false},
		{"too few calls", `{"count": 99, "statusCodeDistribution": {"OK": 99}}`, total, false},
		{"too many calls", `{"count": 101, "statusCodeDistribution": {"OK": 101}}`, total, false},
		{"fewer statuses than calls", `{"count": 100, "statusCodeDistribution": {"OK": 99}}`, total, false},
		{"as many as time allowed", `{"count": 7, "statusCodeDistribution": {"OK": 7}}`, duration, true},
		{"no calls", `{"count": 0, "statusCodeDistribution": {}}`, duration, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := new(report)
			if err := json.Unmarshal([]byte(test.report), r); err != nil {
				t.Fatal(err)
			}
			if err := r.check(config{Total: test.total}); (err == nil) != test.good {
				t.Errorf("good: %t, got %v", test.good, err)
			}
		})
	}
}
