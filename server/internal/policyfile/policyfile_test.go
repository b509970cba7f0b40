package policyfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward/server/internal/onceward"
)

// everything names each setting with a value that is not its default.
const everything = `
strict: true
defaults:
  lease: 45s
namespaces:
  payments:
    lease: 1m
    retention: 2160h
    max_retention: 4320h
    result_retention: 48h
    max_result_bytes: 1024
    max_attempts: 5
    allow_final: false
    retry_horizon: 96h
    readable_keys: false
    on_started_takeover: reconcile
    on_store_down: open
    min_replicas: 1
    routing: entity
    shadow: true
    audit: all
    ordering:
      gap: hold
      first: 0
      retention: 0
      max_future_skew: 1m
      transitions: {pending: [paid, expired], expired: [paid]}
  plain:
`

func TestParseReadsEverySetting(t *testing.T) {
	got, err := Parse([]byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	zero := uint64(0)
	payments := &onceward.Policy{
		Lease:             time.Minute,
		Retention:         2160 * time.Hour,
		MaxRetention:      4320 * time.Hour,
		ResultRetention:   48 * time.Hour,
		MaxResultBytes:    1024,
		MaxAttempts:       5,
		RetryHorizon:      96 * time.Hour,
		OnStartedTakeover: onceward.TakeoverReconcile,
		OnStoreDown:       onceward.StoreDownOpen,
		MinReplicas:       1,
		Routing:           onceward.RouteByEntity,
		Shadow:            true,
		Audit:             onceward.AuditAll,
		Ordering: onceward.Ordering{
			Gap:           onceward.GapHold,
			First:         &zero,
			MaxFutureSkew: time.Minute,
			Transitions:   map[string][]string{"pending": {"paid", "expired"}, "expired": {"paid"}},
		},
	}
	plain := onceward.DefaultPolicy()
	plain.Lease = 45 * time.Second
	want := &onceward.Policies{Strict: true, Default: &plain, Namespaces: map[string]*onceward.Policy{"payments": payments, "plain": &plain}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policies differ (-want +got):\n%s", diff)
	}
}

func TestNoFileIsTheDefaults(t *testing.T) {
	for name, load := range map[string]func() (*onceward.Policies, error){
		"no path":    func() (*onceward.Policies, error) { return Load("") },
		"empty file": func() (*onceward.Policies, error) { return Parse(nil) },
	} {
		got, err := load()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(onceward.DefaultPolicy(), *got.Default); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAnInheritedResultRetentionYields(t *testing.T) {
	got, err := Parse([]byte("defaults: {retention: 12h, retry_horizon: 1h, ordering: {retention: 0}}"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Default.ResultRetention != 12*time.Hour {
		t.Errorf("result retention is %s", got.Default.ResultRetention)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"namespaces: {a: {leese: 3s}}":                             `unknown field "leese"`,
		"strickt: true":                                            `unknown field "strickt"`,
		"defaults: {ordering: {gapp: hold}}":                       `unknown field "gapp"`,
		"defaults: {lease: 3}":                                     "no duration",
		"defaults: {lease: soon}":                                  "no duration",
		"defaults: {lease: 1ms}":                                   "lease: must be between 50ms and 24h",
		"defaults: {retention: 71h}":                               "retention: is shorter than retry_horizon",
		"defaults: {retention: 12h}":                               "retention: is shorter than retry_horizon",
		"namespaces: {a: {retention: 80h, result_retention: 90h}}": "result_retention: is longer than retention (80h)",
		"namespaces: {\"a b\": {}}":                                "namespace",
		"defaults: {ordering: {first: -1}}":                        "ordering.first",
		"defaults: {routing: entities}":                            "routing: must be one of [key entity]",
		"namespaces: [a]":                                          "",
		"a: b: c":                                                  "",
	} {
		_, err := Parse([]byte(text))
		if err == nil {
			t.Errorf("%s: accepted", text)
		} else if !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error is %q, want it to say %q", text, err, says)
		}
	}
}

func TestErrorsSayWhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policies.yaml")
	if err := os.WriteFile(path, []byte("namespaces:\n  a:\n    lease: 3s\n    leese: 3s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(path)
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "[4:5]") {
		t.Errorf("error is %v, want the file's name and line 4", err)
	}
}

func TestEveryBadSettingIsNamedWithItsPlace(t *testing.T) {
	_, err := Parse([]byte("namespaces:\n  b:\n    lease: 1ms\n  a:\n    ordering:\n      gap: skip\n    retention: 1h\n"))
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`namespace "a"`, "[6:12] ordering.gap: must be one of", "[7:16] retention: is shorter", `namespace "b"`, "[3:12] lease: must be between"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error is %q, want it to say %q", err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(everything)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse([]byte(text))
		if err != nil {
			return
		}
		if err := p.Default.Check(); err != nil {
			t.Errorf("accepted defaults that cannot be kept: %v", err)
		}
	})
}
