package onceward

import (
	"errors"
	"testing"
	"time"
)

func TestDefaultPolicyIsKept(t *testing.T) {
	if err := DefaultPolicy().Check(); err != nil {
		t.Error(err)
	}
}

func TestPolicyBounds(t *testing.T) {
	for field, change := range map[string]func(*Policy){
		"lease":                    func(p *Policy) { p.Lease = MinLease - 1 },
		"retention":                func(p *Policy) { p.MaxRetention, p.Retention = 100*time.Hour, 101*time.Hour },
		"max_retention":            func(p *Policy) { p.MaxRetention = MaxRetention + 1 },
		"result_retention":         func(p *Policy) { p.ResultRetention = p.Retention + 1 },
		"max_result_bytes":         func(p *Policy) { p.MaxResultBytes = MaxResultBytes + 1 },
		"max_attempts":             func(p *Policy) { p.MaxAttempts = -1 },
		"min_replicas":             func(p *Policy) { p.MinReplicas = -1 },
		"retry_horizon":            func(p *Policy) { p.RetryHorizon = -1 },
		"on_started_takeover":      func(p *Policy) { p.OnStartedTakeover = "retrry" },
		"on_store_down":            func(p *Policy) { p.OnStoreDown = "" },
		"routing":                  func(p *Policy) { p.Routing = "keys" },
		"audit":                    func(p *Policy) { p.Audit = "none" },
		"ordering.gap":             func(p *Policy) { p.Ordering.Gap = "skip" },
		"ordering.retention":       func(p *Policy) { p.Ordering.Retention = 71 * time.Hour },
		"ordering.max_future_skew": func(p *Policy) { p.Ordering.MaxFutureSkew = -1 },
	} {
		p := DefaultPolicy()
		change(&p)
		if got := fieldOf(p.Check()); got != field {
			t.Errorf("refused setting is %q, want %q", got, field)
		}
	}
}

func TestRetentionBelowTheRetryHorizonIsRefused(t *testing.T) {
	p := DefaultPolicy()
	p.Retention, p.ResultRetention = 71*time.Hour, time.Hour
	if got := fieldOf(p.Check()); got != "retention" {
		t.Errorf("refused setting is %q", got)
	}
}

func TestStrictPoliciesKnowOnlyTheirNamespaces(t *testing.T) {
	p := DefaultPolicies()
	p.Strict = true
	p.Namespaces = map[string]*Policy{"known": p.Default}
	if _, err := p.For("known"); err != nil {
		t.Error(err)
	}
	_, err := p.For("unknown")
	var e *Error
	if !errors.As(err, &e) || e.Reason != ReasonNamespaceUnknown {
		t.Errorf("error is %v", err)
	}
}

func TestBound(t *testing.T) {
	for d, want := range map[time.Duration]string{
		50 * time.Millisecond: "50ms", time.Second: "1s", 30 * time.Second: "30s", 24 * time.Hour: "24h", MaxRetention: "87600h", 0: "0s",
	} {
		if got := bound(d); got != want {
			t.Errorf("bound(%d) is %s, want %s", d, got, want)
		}
	}
}

func TestMillisNeverMakesZero(t *testing.T) {
	for d, want := range map[time.Duration]int64{0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, MaxRetention: 315360000000} {
		if got := Millis(d); got != want {
			t.Errorf("Millis(%d) is %d, want %d", d, got, want)
		}
	}
}
