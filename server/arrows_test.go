package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/onceward/onceward/"

// arrows says which packages of this module each package may import, and which
// foreign modules are its own business. What is not listed may import neither.
var arrows = map[string]struct{ ours, foreign []string }{
	"server":                                {ours: []string{"cli", "memstore", "onceward", "ops", "policyfile", "redisstore", "rpc"}, foreign: []string{"golang.org/x/sync", "golang.org/x/term", "google.golang.org/grpc"}},
	"server/internal/onceward":              {},
	"server/internal/onceward/oncewardtest": {ours: []string{"onceward"}},
	"server/internal/memstore":              {ours: []string{"onceward"}},
	"server/internal/redisstore":            {ours: []string{"onceward"}, foreign: []string{"github.com/redis/go-redis"}},
	"server/internal/policyfile":            {ours: []string{"onceward"}, foreign: []string{"github.com/goccy/go-yaml"}},
	"server/internal/ops":                   {foreign: []string{"github.com/prometheus/client_golang", "google.golang.org/grpc/codes"}},
	"server/internal/rpc":                   {ours: []string{"gen", "onceward"}, foreign: []string{"golang.org/x/sync", "google.golang.org/genproto/googleapis/rpc", "google.golang.org/grpc", "google.golang.org/protobuf"}},
	"server/internal/cli":                   {ours: []string{"gen", "policyfile"}, foreign: []string{"golang.org/x/term", "google.golang.org/genproto/googleapis/rpc", "google.golang.org/grpc", "google.golang.org/protobuf"}},
	"server/internal/redistest":             {foreign: []string{"github.com/redis/go-redis"}},
	"client":                                {ours: []string{"gen"}, foreign: []string{"google.golang.org/genproto/googleapis/rpc", "google.golang.org/grpc", "google.golang.org/protobuf"}},
	"client/reconcile":                      {ours: []string{"client", "gen"}, foreign: []string{"golang.org/x/sync", "google.golang.org/grpc"}},
	"gen/go/onceward/v1":                    {foreign: []string{"google.golang.org/grpc", "google.golang.org/protobuf"}},
}

// nickname is the word that arrows uses for a package of this module.
func nickname(path string) string {
	if strings.HasPrefix(path, "gen/") {
		return "gen"
	}
	return path[strings.LastIndex(path, "/")+1:]
}

// TestArrows holds that imports go one way: main to rpc and ops to the domain,
// the stores to the domain, and the domain to nothing but the standard library.
func TestArrows(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		name := strings.TrimPrefix(fields[0], module)
		rule, known := arrows[name]
		if !known {
			if strings.HasPrefix(name, "server/") || strings.HasPrefix(name, "client") {
				t.Errorf("%s is not in the table of arrows: say what it may import", name)
			}
			continue
		}
		seen[name] = true
		for _, path := range fields[1:] {
			if err := allowed(path, rule.ours, rule.foreign); err != nil {
				t.Errorf("%s imports %s: %v", name, path, err)
			}
		}
	}
	for name := range arrows {
		if !seen[name] {
			t.Errorf("%s is in the table of arrows and does not exist", name)
		}
	}
}

func allowed(path string, ours, foreign []string) error {
	if name, isOurs := strings.CutPrefix(path, module); isOurs {
		if !slices.Contains(ours, nickname(name)) {
			return fmt.Errorf("arrows do not go this way")
		}
		return nil
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") {
		return nil // standard library
	}
	for _, f := range foreign {
		if path == f || strings.HasPrefix(path, f+"/") {
			return nil
		}
	}
	return fmt.Errorf("this module is another package's business")
}
