package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// config is what this command reads of a configuration; ghz reads all of it.
type config struct {
	Name            string          `json:"name"`
	Call            string          `json:"call"`
	Total           uint64          `json:"total"`
	Duration        string          `json:"duration"`
	DurationStop    string          `json:"duration-stop"`
	MaxDuration     string          `json:"max-duration"`
	Connections     uint64          `json:"connections"`
	Concurrency     uint64          `json:"concurrency"`
	StreamCallCount uint64          `json:"stream-call-count"`
	Data            json.RawMessage `json:"data"`

	path string
}

// load reads the configurations in dir, or the only one asked for.
func load(dir, only string) ([]config, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var configs []config
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		c := config{path: path}
		if err := json.Unmarshal(data, &c); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if only == "" || only == c.Name {
			configs = append(configs, c)
		}
	}
	if len(configs) == 0 {
		return nil, fmt.Errorf("no configuration %q in %s: run this from the project's root", only, dir)
	}
	return configs, nil
}

// run has ghz call target and reads its report.
func (c config) run(ctx context.Context, target string) (*report, error) {
	cmd := exec.CommandContext(ctx, "go", "tool", "-modfile=tools/ghz/go.mod", "ghz",
		"--config", c.path, "--format", "json", target)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, complaints.Bytes())
	}
	r := new(report)
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		return nil, fmt.Errorf("ghz's report: %w\n%s", err, complaints.Bytes())
	}
	return r, nil
}
