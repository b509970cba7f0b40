package redisstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onceward/onceward/server/internal/onceward"
)

func TestRepliesAreDecodedStrictly(t *testing.T) {
	read := func(text string) (int64, string, error) {
		r := reply{script: "verb", reader: reader{left: text}}
		n, s := r.enum(1, 3), r.text(1)
		return n, s, r.end()
	}
	for name, text := range map[string]string{
		"nothing":          "",
		"too short":        "\x01",
		"cut in a text":    "\x01\x02a",
		"too long":         "\x01\x01ab",
		"above its bounds": "\x04\x01a",
		"below its bounds": "\x00\x01a",
	} {
		if _, _, err := read(text); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if n, s, err := read("\x03\x00"); n != 3 || s != "" || err != nil {
		t.Errorf("got %d, %q, %v", n, s, err)
	}
}

// TestEveryScriptSaysWhatItTakes holds the form of the Lua files: a header that
// names keys, arguments, reply and clock.
func TestEveryScriptSaysWhatItTakes(t *testing.T) {
	files, err := filepath.Glob("*.lua")
	if err != nil || len(files) < 6 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(f, ".lua")
		if strings.Contains(strings.ReplaceAll(string(text), "\n-- ", " "), "it is no script of its own") {
			continue
		}
		for _, want := range []string{"-- " + name + ": ", "\n-- KEYS ", "\n-- ARGV ", "\n-- reply ", "\n-- clock "} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %q", f, want)
			}
		}
	}
}

func TestKeysShareTheirPartition(t *testing.T) {
	k := newKeys(DefaultPrefix)
	got := k.claim(onceward.ClaimID{Namespace: "stripe-live", Key: "evt_1"})
	want := claimKeys{
		name:     "Rg66Yg8fLgGopufB6CbP",
		record:   "ow1:{362}cRg66Yg8fLgGopufB6CbP",
		result:   "ow1:{362}rRg66Yg8fLgGopufB6CbP",
		progress: "ow1:{362}progress",
		parked:   "ow1:{362}parked",
		log:      "ow1:{362}log",
	}
	if got != want {
		t.Errorf("keys are %+v", got)
	}
	ordered := k.claim(onceward.ClaimID{Namespace: "stripe-live", Key: "evt_1", Entity: "ch_1"})
	for _, key := range []string{ordered.record, ordered.result, ordered.progress, ordered.entity.record, ordered.entity.hold, ordered.entity.flagged} {
		if !strings.HasPrefix(key, "ow1:{3ca}") {
			t.Errorf("key %s is not in the partition of its entity", key)
		}
	}
}

func TestPrefixStartsWithTheLayout(t *testing.T) {
	for prefix, ok := range map[string]bool{"ow1:": true, "ow1:staging:": true, "": false, "ow2:": false, "app:": false, "ow1:{a}": false} {
		if err := checkPrefix(prefix); (err == nil) != ok {
			t.Errorf("prefix %q: %v", prefix, err)
		}
	}
}

func TestAURLThatCannotBeReadKeepsItsPassword(t *testing.T) {
	for _, url := range []string{"redis://user:hunter2@host:port", "hunter2", "http://:hunter2@h", "redis://:hunter2@h/db?x=%zz"} {
		if _, err := Open(Standalone, url, DefaultPrefix); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := Open("single", "redis://h", DefaultPrefix); err == nil {
		t.Error("an unknown mode is accepted")
	}
}

// said is an error that Redis itself returned.
type said string

func (s said) Error() string { return string(s) }
func (said) RedisError()     {}

func TestFailures(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tc := range []struct {
		ctx  context.Context
		err  error
		want onceward.Reason
	}{
		{t.Context(), said("RECORD_UNREADABLE head"), onceward.ReasonRecordUnreadable},
		{t.Context(), said("WRONGTYPE Operation against a key holding the wrong kind of value"), onceward.ReasonRecordUnreadable},
		{t.Context(), said("EFFECT_STARTED it must not"), onceward.ReasonEffectStarted},
		{t.Context(), said("OOM command not allowed when used memory > 'maxmemory'."), onceward.ReasonStoreFull},
		{t.Context(), said("ERR Error running script: OOM command not allowed"), onceward.ReasonStoreFull},
		{t.Context(), said("LOADING Redis is loading the dataset in memory"), onceward.ReasonStoreUnavailable},
		{t.Context(), errors.New("i/o timeout"), onceward.ReasonStoreUnavailable},
		{ended, errors.New("i/o timeout"), onceward.ReasonCanceled},
	} {
		var e *onceward.Error
		if err := failure(tc.ctx, "verb", tc.err); !errors.As(err, &e) || e.Reason != tc.want {
			t.Errorf("%v: %v, want %s", tc.err, err, tc.want)
		}
	}
}
