// Package policyfile reads the policies of namespaces from YAML.
package policyfile

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

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
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(f.Namespaces)) {
		policy, err := overlay(*def, f.Namespaces[name])
		if err = errors.Join(onceward.CheckNamespace(name), err); err != nil {
			errs = append(errs, fmt.Errorf("namespace %q: %w", name, err))
		}
		p.Namespaces[name] = policy
	}
	return p, errors.Join(errs...)
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
	return &p, place(p.Check(), node)
}

// place adds to every violation where the setting stands, if it stands there and
// is not inherited.
func place(err error, node ast.Node) error {
	var e *onceward.Error
	if node == nil || !errors.As(err, &e) {
		return err
	}
	var errs []error
	for _, v := range e.Violations {
		at := ""
		if path, err := yaml.PathString("$." + v.Field); err == nil {
			if n, err := path.FilterNode(node); err == nil && n != nil {
				pos := n.GetToken().Position
				at = fmt.Sprintf("[%d:%d] ", pos.Line, pos.Column)
			}
		}
		errs = append(errs, fmt.Errorf("%s%s: %s", at, v.Field, v.Description))
	}
	return errors.Join(errs...)
}
