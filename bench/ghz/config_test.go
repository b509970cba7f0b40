package main

import (
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/onceward/onceward/gen/go/onceward/v1"
)

// TestConfigs holds what ghz would only find out while it runs, or never say.
func TestConfigs(t *testing.T) {
	configs, err := load(".", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs {
		t.Run(c.Name, func(t *testing.T) {
			if want := c.Name + ".json"; filepath.Base(c.path) != want {
				t.Errorf("file %s, want %s", c.path, want)
			}
			checkCall(t, c)
			checkLength(t, c)
			if c.Connections == 0 {
				t.Error("connections is not set: all workers would share one")
			}
			if c.Concurrency == 0 || c.Total%c.Concurrency != 0 {
				t.Errorf("total %d is not a multiple of concurrency %d", c.Total, c.Concurrency)
			}
		})
	}
}

func checkCall(t *testing.T, c config) {
	name := protoreflect.FullName(strings.ReplaceAll(c.Call, "/", "."))
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		t.Fatalf("call %s: %v", c.Call, err)
	}
	method, ok := d.(protoreflect.MethodDescriptor)
	if !ok {
		t.Fatalf("call %s is not a method", c.Call)
	}
	if method.IsStreamingClient() != (c.StreamCallCount > 0) {
		t.Errorf("stream-call-count is %d and the call streams: %t", c.StreamCallCount, method.IsStreamingClient())
	}
}

func checkLength(t *testing.T, c config) {
	if c.MaxDuration != "" {
		t.Error("max-duration would override total")
	}
	if (c.Total > 0) == (c.Duration != "") {
		t.Error("one of total and duration has to be set")
	}
	if c.Duration != "" && c.DurationStop != "wait" {
		t.Errorf("duration-stop is %q: calls under way at the end would count as errors", c.DurationStop)
	}
}

func TestLoadOnly(t *testing.T) {
	configs, err := load(".", "claim")
	if err != nil || len(configs) != 1 || configs[0].Name != "claim" {
		t.Errorf("%v, %v", configs, err)
	}
	if _, err := load(".", "no-such"); err == nil {
		t.Error("an unknown name was accepted")
	}
}
