package policyfile

import (
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/onceward/onceward/server/internal/onceward"
)

// settings is a policy as the file writes it.
type settings struct {
	Lease             duration                   `yaml:"lease"`
	Retention         duration                   `yaml:"retention"`
	MaxRetention      duration                   `yaml:"max_retention"`
	ResultRetention   duration                   `yaml:"result_retention"`
	MaxResultBytes    int                        `yaml:"max_result_bytes"`
	MaxAttempts       int                        `yaml:"max_attempts"`
	AllowFinal        bool                       `yaml:"allow_final"`
	RetryHorizon      duration                   `yaml:"retry_horizon"`
	ReadableKeys      bool                       `yaml:"readable_keys"`
	OnStartedTakeover onceward.OnStartedTakeover `yaml:"on_started_takeover"`
	OnStoreDown       onceward.OnStoreDown       `yaml:"on_store_down"`
	MinReplicas       int                        `yaml:"min_replicas"`
	Routing           onceward.Routing           `yaml:"routing"`
	Shadow            bool                       `yaml:"shadow"`
	Audit             onceward.Audit             `yaml:"audit"`
	Ordering          ordering                   `yaml:"ordering"`
}

type ordering struct {
	Gap           onceward.Gap        `yaml:"gap"`
	First         first               `yaml:"first"`
	Retention     duration            `yaml:"retention"`
	MaxFutureSkew duration            `yaml:"max_future_skew"`
	Transitions   map[string][]string `yaml:"transitions"`
}

func fromPolicy(p onceward.Policy) settings {
	return settings{
		Lease:             duration(p.Lease),
		Retention:         duration(p.Retention),
		MaxRetention:      duration(p.MaxRetention),
		ResultRetention:   duration(p.ResultRetention),
		MaxResultBytes:    p.MaxResultBytes,
		MaxAttempts:       p.MaxAttempts,
		AllowFinal:        p.AllowFinal,
		RetryHorizon:      duration(p.RetryHorizon),
		ReadableKeys:      p.ReadableKeys,
		OnStartedTakeover: p.OnStartedTakeover,
		OnStoreDown:       p.OnStoreDown,
		MinReplicas:       p.MinReplicas,
		Routing:           p.Routing,
		Shadow:            p.Shadow,
		Audit:             p.Audit,
		Ordering: ordering{
			Gap:           p.Ordering.Gap,
			First:         first{p.Ordering.First},
			Retention:     duration(p.Ordering.Retention),
			MaxFutureSkew: duration(p.Ordering.MaxFutureSkew),
			Transitions:   p.Ordering.Transitions,
		},
	}
}

func (s settings) policy() onceward.Policy {
	return onceward.Policy{
		Lease:             time.Duration(s.Lease),
		Retention:         time.Duration(s.Retention),
		MaxRetention:      time.Duration(s.MaxRetention),
		ResultRetention:   time.Duration(s.ResultRetention),
		MaxResultBytes:    s.MaxResultBytes,
		MaxAttempts:       s.MaxAttempts,
		AllowFinal:        s.AllowFinal,
		RetryHorizon:      time.Duration(s.RetryHorizon),
		ReadableKeys:      s.ReadableKeys,
		OnStartedTakeover: s.OnStartedTakeover,
		OnStoreDown:       s.OnStoreDown,
		MinReplicas:       s.MinReplicas,
		Routing:           s.Routing,
		Shadow:            s.Shadow,
		Audit:             s.Audit,
		Ordering: onceward.Ordering{
			Gap:           s.Ordering.Gap,
			First:         s.Ordering.First.sequence,
			Retention:     time.Duration(s.Ordering.Retention),
			MaxFutureSkew: time.Duration(s.Ordering.MaxFutureSkew),
			Transitions:   s.Ordering.Transitions,
		},
	}
}

// duration is Go's notation: 30s, 720h. 0 needs no unit.
type duration time.Duration

func (d *duration) UnmarshalYAML(n ast.Node) error {
	var s string
	if err := yaml.NodeToValue(n, &s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return misplaced(n, "%q is no duration: write 30s, 15m or 720h", s)
	}
	*d = duration(v)
	return nil
}

// first is a sequence, or the word any.
type first struct{ sequence *uint64 }

func (f *first) UnmarshalYAML(n ast.Node) error {
	var word string
	if yaml.NodeToValue(n, &word) == nil && word == "any" {
		f.sequence = nil
		return nil
	}
	var sequence uint64
	if err := yaml.NodeToValue(n, &sequence); err != nil {
		return misplaced(n, "must be a sequence or any")
	}
	f.sequence = &sequence
	return nil
}

// misplaced is an error about a value, with its line, column and name.
func misplaced(n ast.Node, format string, args ...any) error {
	at := n.GetToken().Position
	_, name, _ := strings.Cut(n.GetPath(), "$.")
	return fmt.Errorf("[%d:%d] %s: %s", at.Line, at.Column, name, fmt.Sprintf(format, args...))
}
