package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// everyFlag is what the documentation promises.
var everyFlag = []string{
	"listen", "http-listen", "redis-url", "redis-mode", "redis-prefix", "config", "log-format", "log-level",
	"reflection", "allow-eviction", "drain-timeout",
}

func TestHelpNamesEveryFlagAndItsVariable(t *testing.T) {
	out, err := exec.Command(binary, "-h").CombinedOutput()
	if err != nil {
		t.Errorf("-h: %v", err)
	}
	for _, name := range everyFlag {
		if !strings.Contains(string(out), "-"+name) {
			t.Errorf("-h does not name the flag -%s", name)
		}
		if v := "ONCEWARD_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")); !strings.Contains(string(out), v) {
			t.Errorf("-h does not name the variable %s", v)
		}
	}
}

func environment(settings map[string]string) func(string) string {
	return func(name string) string { return settings[name] }
}

var noEnvironment = environment(nil)

func TestEveryFlagCanBeSetFromTheEnvironment(t *testing.T) {
	fromFlags, err := parse([]string{
		"--listen", "127.0.0.1:1", "--listen=unix:///run/onceward", "--http-listen", "127.0.0.1:2", "--redis-url", "redis://r",
		"--redis-mode", "cluster", "--redis-prefix", "ow1:x:", "--config", "p.yaml", "--log-format", "json", "--log-level", "warn",
		"--reflection=false", "--allow-eviction", "--drain-timeout", "3s",
	}, noEnvironment, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	fromEnvironment, err := parse(nil, environment(map[string]string{
		"ONCEWARD_LISTEN": "127.0.0.1:1,unix:///run/onceward", "ONCEWARD_HTTP_LISTEN": "127.0.0.1:2", "ONCEWARD_REDIS_URL": "redis://r",
		"ONCEWARD_REDIS_MODE": "cluster", "ONCEWARD_REDIS_PREFIX": "ow1:x:", "ONCEWARD_CONFIG": "p.yaml", "ONCEWARD_LOG_FORMAT": "json",
		"ONCEWARD_LOG_LEVEL": "warn", "ONCEWARD_REFLECTION": "false", "ONCEWARD_ALLOW_EVICTION": "true", "ONCEWARD_DRAIN_TIMEOUT": "3s",
	}), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(fromFlags, fromEnvironment, cmp.AllowUnexported(config{})); d != "" {
		t.Errorf("-flags +environment:\n%s", d)
	}
	if got := fromFlags.listen; len(got) != 2 || got[1] != "unix:///run/onceward" {
		t.Errorf("listen is %q", got)
	}
}

func TestAFlagBeatsTheEnvironment(t *testing.T) {
	c, err := parse([]string{"--listen", "127.0.0.1:1", "--drain-timeout", "3s"},
		environment(map[string]string{"ONCEWARD_LISTEN": "127.0.0.1:2", "ONCEWARD_DRAIN_TIMEOUT": "4s"}), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.listen) != 1 || c.listen[0] != "127.0.0.1:1" || c.drainTimeout != 3*time.Second {
		t.Errorf("listen %q, drain timeout %s: the environment won", c.listen, c.drainTimeout)
	}
}

func TestBadValuesAreRefusedAndTheErrorNamesTheFlag(t *testing.T) {
	for _, bad := range []struct{ flag, value string }{
		{"listen", "no address"},
		{"listen", "127.0.0.1:99999"},
		{"http-listen", "no address"},
		{"redis-url", "http://127.0.0.1"},
		{"redis-url", "redis://127.0.0.1/not-a-number"},
		{"redis-mode", "clustre"},
		{"redis-prefix", "other:"},
		{"redis-prefix", "ow1:{x}"},
		{"config", "/does/not/exist.yaml"},
		{"log-format", "xml"},
		{"log-level", "loud"},
		{"reflection", "perhaps"},
		{"allow-eviction", "perhaps"},
		{"drain-timeout", "20"},
		{"drain-timeout", "0s"},
		{"drain-timeout", "-1s"},
	} {
		t.Run(bad.flag+"="+bad.value, func(t *testing.T) {
			args := usable("--"+bad.flag, bad.value)
			if err := runBriefly(t, args, noEnvironment); !namesFlag(err, bad.flag) {
				t.Errorf("as a flag: %v, want an error that names -%s", err, bad.flag)
			}
			name := "ONCEWARD_" + strings.ToUpper(strings.ReplaceAll(bad.flag, "-", "_"))
			env := environment(map[string]string{name: bad.value})
			if err := runBriefly(t, usable("--"+bad.flag, ""), env); !namesFlag(err, bad.flag) && !strings.Contains(errorText(err), name) {
				t.Errorf("from the environment: %v, want an error that names it", err)
			}
		})
	}
}

// usable are arguments that the server could start with, but for one flag.
func usable(flag, value string) (args []string) {
	defaults := [][2]string{{"--listen", "127.0.0.1:0"}, {"--http-listen", "127.0.0.1:0"}, {"--redis-url", "redis://127.0.0.1:1"}}
	for _, d := range defaults {
		if d[0] != flag {
			args = append(args, d[0], d[1])
		}
	}
	if value != "" {
		args = append(args, flag+"="+value)
	}
	return args
}

func namesFlag(err error, flag string) bool { return strings.Contains(errorText(err), "-"+flag) }

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// runBriefly runs the server in this process. If it starts after all, it is
// ended, and the error is nil.
func runBriefly(t *testing.T, args []string, getenv func(string) string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return run(ctx, args, getenv, io.Discard)
}

// A setting that is wrong stays wrong where it has no effect: it would come to
// light only with the next setting.
func TestBadRedisSettingsAreRefusedWithoutRedisToo(t *testing.T) {
	t.Parallel() // mostly waits
	for _, arg := range []string{"--redis-mode=clustre", "--redis-prefix=other:"} {
		if err := runBriefly(t, append(usable("--redis-url", ""), arg), noEnvironment); err == nil {
			t.Errorf("%s: accepted", arg)
		}
	}
}

func TestUnknownFlagsAndArgumentsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"--no-such-flag"}, {"serve"}, {"--reflection", "false"}} {
		if err := runBriefly(t, append(args, usable("", "")...), noEnvironment); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestABadStartExitsWithAnErrorAndTheReason(t *testing.T) {
	out, err := exec.Command(binary, "--log-format", "xml").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "log-format") {
		t.Errorf("%v, output %q, want an error that names -log-format", err, out)
	}
}

func TestBadPoliciesAreRefusedAndTheErrorSaysWhere(t *testing.T) {
	for _, bad := range []struct{ name, policies, where string }{
		{"unknown at the top", "strict: false\n\nnamespace: {}\n", "[3:1]"},
		{"unknown in defaults", "defaults:\n  lease: 30s\n  leese: 30s\n", "[3:3]"},
		{"unknown in a namespace", "namespaces:\n  a:\n    leese: 30s\n", "[3:5]"},
		{"unknown in ordering", "namespaces:\n  a: {ordering:\n      {gaps: hold}}\n", "[3:8]"},
		{"not a duration", "namespaces:\n  a:\n    lease: soon\n", "lease"},
		{"not a duration", "namespaces:\n  a:\n    lease: soon\n", "[3:"},
		{"out of bounds", "namespaces:\n  a:\n    lease: 1ms\n", "[3:12] lease"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			path := strings.TrimPrefix(withPolicies(t, bad.policies), "ONCEWARD_CONFIG=")
			text := errorText(runBriefly(t, usable("--config", path), noEnvironment))
			if !strings.Contains(text, path) || !strings.Contains(text, bad.where) {
				t.Errorf("%q, want an error with the file and %q", text, bad.where)
			}
		})
	}
}

func TestListenTakesSeveralAddresses(t *testing.T) {
	socket := t.TempDir() + "/s"
	p := startServer(t, "ONCEWARD_LISTEN=127.0.0.1:0, unix://"+socket+",127.0.0.1:0")
	if len(p.addrs) != 3 {
		t.Fatalf("serving at %q, want three addresses", p.addrs)
	}
	key := attempt("seen through every address")
	for _, addr := range p.addrs {
		client := &process{t: t, addrs: []string{addr}}
		client.connect()
		if v := client.hold(key); v.GetAttempt() != 1 {
			t.Errorf("%s: %v", addr, v)
		}
	}
	if _, err := os.Stat(socket); err != nil {
		t.Error(err)
	}
}
