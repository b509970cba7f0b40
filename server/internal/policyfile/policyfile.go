// Package policyfile reads the policies of namespaces from YAML.
package policyfile

import (
	"fmt"
	"os"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/onceward/onceward/server/internal/onceward"
)

// Load reads a policies file. An empty path gives the built-in defaults.
func Load(path string) (*onceward.Policies, error) {
	if path == "" {
		return onceward.DefaultPolicies(), nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("policies: %w", err)
	}
	p, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("policies in %s: %w", path, err)
	}
	return p, nil
}

// Parse reads policies. Unknown settings are errors, and so are values that
// cannot be kept; the error says where.
func Parse(text []byte) (*onceward.Policies, error) {
	var f struct {
		Strict     bool                `yaml:"strict"`
		Defaults   ast.Node            `yaml:"defaults"`
		Namespaces map[string]ast.Node `yaml:"namespaces"`
	}
	if err := yaml.UnmarshalWithOptions(text, &f, yaml.Strict()); err != nil {
		return nil, err
	}
	def, err := overlay(onceward.DefaultPolicy(), f.Defaults)
	if err != nil {
		return nil, fmt.Errorf("defaults: %w", err)
	}
	p := &onceward.Policies{Strict: f.Strict, Default: def, Namespaces: map[string]*onceward.Policy{}}
	for name, node := range f.Namespaces {
		if err := onceward.CheckNamespace(name); err != nil {
			return nil, fmt.Errorf("namespace %q: %w", name, err)
		}
		if p.Namespaces[name], err = overlay(*def, node); err != nil {
			return nil, fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	return p, nil
}

// overlay gives base with the settings that node names.
func overlay(base onceward.Policy, node ast.Node) (*onceward.Policy, error) {
	s := fromPolicy(base)
	if node != nil && node.Type() != ast.NullType {
		if err := yaml.NodeToValue(node, &s, yaml.Strict()); err != nil {
			return nil, err
		}
	}
	p := s.policy()
	if p.ResultRetention == base.ResultRetention {
		p.ResultRetention = min(p.ResultRetention, p.Retention) // an inherited one yields; a written one is refused
	}
	return &p, p.Check()
}
