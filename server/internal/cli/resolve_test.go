package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

func resolveArgs(key string, more ...string) []string {
	return append([]string{"resolve", "-namespace", "a", "-key", key, "-reason", "asked the bank"}, more...)
}

func TestResolveDone(t *testing.T) {
	t.Parallel()
	s := start(t)
	file := filepath.Join(t.TempDir(), "result")
	writeFile(t, file, "\x00\xff\n")
	for key, r := range map[string]struct{ args, result string }{
		"none": {"-done", ""},
		"text": {"-done -result ok", "ok"},
		"file": {"-done -result-file " + file, "\x00\xff\n"},
	} {
		s.park("a", "", key, "unsure")
		out := s.done(resolveArgs(key, strings.Fields(r.args)...)...)
		if c := parseOne[oncewardv1.ResolveClaimResponse](t, out).GetClaim(); c.GetState() != oncewardv1.ClaimState_CLAIM_STATE_COMPLETED {
			t.Errorf("%s: %v", key, c)
		}
		again := s.claim(&oncewardv1.CheckAndClaimRequest{Namespace: "a", Key: key})
		if again.GetOutcome() != oncewardv1.ClaimOutcome_CLAIM_OUTCOME_DUPLICATE || string(again.GetResult()) != r.result {
			t.Errorf("%s: %v", key, again)
		}
	}
	s.expire("a", "expired")
	if out := s.done(append(resolveArgs("expired", "-done"), "-table")...); out !=
		`Resolved the claim "expired" in a as done: it is completed, and repeats of the event are duplicates.`+"\n" {
		t.Error(out)
	}
}

func TestResolveNotDone(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.park("a", "", "k", "unsure")
	if out := s.done(append(resolveArgs("k", "-not-done"), "-table")...); out !=
		`Resolved the claim "k" in a as not done: it is released, and the next attempt may go ahead.`+"\n" {
		t.Error(out)
	}
	if v := s.hold("a", "", "k"); v.GetAttempt() != 2 {
		t.Error(v)
	}
}

func TestResolveOrderedClaims(t *testing.T) {
	t.Parallel()
	s := start(t)
	v := s.claim(&oncewardv1.CheckAndClaimRequest{
		Namespace: "orders", Consumer: "ledger", KeyParts: []string{"x", "y"}, Lease: durationpb.New(time.Hour),
		Order: &oncewardv1.Order{Entity: "o-1", Version: sequence(4), State: "pending"},
	})
	_, err := s.worker.Release(t.Context(), &oncewardv1.ReleaseRequest{
		Namespace: "orders", Consumer: "ledger", Key: v.GetKey(), Entity: "o-1", FencingToken: v.GetFencingToken(), Park: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.done("resolve", "-namespace", "orders", "-consumer", "ledger", "-part", "x", "-part", "y", "-entity", "o-1", "-done", "-reason", "r")
	if e := s.entity("orders", "o-1").GetEntity(); e.GetVersion().GetSequence() != 4 {
		t.Errorf("the watermark did not move: %v", e)
	}
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.hold("a", "", "held")
	s.refused(1, []string{"FAILED_PRECONDITION, not possible as things stand", "[CLAIM_HELD]"}, resolveArgs("held", "-not-done")...)
	s.refused(1, []string{"NOT_FOUND", "[CLAIM_NOT_FOUND]"}, resolveArgs("absent", "-done")...)
	s.refused(2, []string{"exactly one of -done and -not-done"}, resolveArgs("held")...)
	s.refused(2, []string{"exactly one of -done and -not-done"}, resolveArgs("held", "-done", "-not-done")...)
	s.refused(2, []string{"only for -done"}, resolveArgs("held", "-not-done", "-result", "x")...)
	s.refused(2, []string{"exclude each other"}, resolveArgs("held", "-done", "-result", "x", "-result-file", "y")...)
	s.refused(2, []string{"-result-file", "no such file"}, resolveArgs("held", "-done", "-result-file", filepath.Join(t.TempDir(), "none"))...)
}
