package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, f := range []struct {
		name, text string
		code       int
		says       []string
	}{
		{"empty.yaml", "", 0, []string{"empty.yaml is valid: 0 namespaces\n"}},
		{"one.yaml", "namespaces: {a: {lease: 1m}}", 0, []string{"one.yaml is valid: 1 namespace\n"}},
		{"two.yaml", policies, 0, []string{"two.yaml is valid: 2 namespaces\n"}},
		{"unknown.yaml", "namespaces:\n  a:\n    lease: 3s\n    leese: 3s\n", 1, []string{"unknown.yaml", "[4:5]", `unknown field "leese"`}},
		{"twice.yaml", "namespaces:\n  a: {}\n  a: {}\n", 1, []string{"twice.yaml", "[3:3]"}},
		{"bounds.yaml", "namespaces:\n  a:\n    lease: 1ms\n", 1, []string{"bounds.yaml", "namespace \"a\": [3:12] lease: must be between"}},
		{"syntax.yaml", "a: b: c", 1, []string{"syntax.yaml", "[1:4]"}},
		{"escape.yaml", "namespaces:\n  a:\n    \"le\x1b[2Jese\": 3s\n", 1, []string{"escape.yaml"}},
	} {
		path := filepath.Join(dir, f.name)
		writeFile(t, path, f.text)
		r := runWith(t, nil, "validate", path)
		said, silent := r.stdout, r.stderr
		if f.code != 0 {
			said, silent = silent, said
		}
		if r.code != f.code || silent != "" {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", f.name, r.code, r.stdout, r.stderr)
		}
		checkText(t, said, f.says...)
		if strings.Contains(said, "\x1b") {
			t.Errorf("%s: %q", f.name, said)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	t.Parallel()
	s := &service{t: t}
	s.refused(1, []string{"no such file"}, "validate", filepath.Join(t.TempDir(), "none.yaml"))
	s.refused(2, []string{"exactly one file"}, "validate")
	s.refused(2, []string{"exactly one file"}, "validate", "")
	s.refused(2, []string{"exactly one file"}, "validate", "a", "b")
	s.refused(2, []string{"-json"}, "validate", "-json", "a")
}
