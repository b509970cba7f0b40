package cli_test

import (
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// ownFlags are each command's own.
var ownFlags = map[string]string{
	"claims":        "namespace state limit",
	"entities":      "namespace limit",
	"decisions":     "namespace consumer key entity limit",
	"overview":      "namespace",
	"reconcile":     "namespace consumer entity sequence timestamp decimal epoch rank event-id state allow-backwards reason",
	"resolve":       "namespace consumer key part entity done not-done result result-file reason",
	"forget claim":  "namespace consumer key part entity reason",
	"forget entity": "namespace consumer entity reason",
	"validate":      "",
}

func TestHelpDocumentsEveryCommandAndFlag(t *testing.T) {
	t.Parallel()
	s := &service{t: t}
	service, err := exec.Command(binary, "-h").CombinedOutput()
	if err != nil {
		t.Error(err)
	}
	list := s.done("help")
	for name, flags := range ownFlags {
		checkText(t, string(service), name)
		checkText(t, list, "onceward "+name)
		if name != "validate" {
			flags += " addr json table timeout actor tls tls-ca"
		}
		for _, h := range []string{"-h", "--help"} {
			help := s.done(append(strings.Fields(name), h)...)
			checkText(t, help, "onceward "+name)
			for flag := range strings.FieldsSeq(flags) {
				checkText(t, help, "\n  -"+flag)
			}
		}
	}
	checkText(t, s.done("claims", "-h"), "ONCEWARD_ADDR", "ONCEWARD_ACTOR", "default 10s", `default "ada"`, `default "127.0.0.1:7070"`)
	checkText(t, s.done("forget", "-h"), "forget claim", "forget entity")
}

func TestWhatIsNoCommand(t *testing.T) {
	t.Parallel()
	s := &service{t: t}
	s.refused(2, []string{`"claim" is no command`, "claims", "forget entity", "validate"}, "claim")
	s.refused(2, []string{`"" is no command`}, "")
	s.refused(2, []string{`"\x1b[2J" is no command`}, "\x1b[2J")
	s.refused(2, []string{"say what"}, "forget", "everything")
	s.refused(2, []string{"-bogus"}, "claims", "-bogus")
	s.refused(2, []string{`bogus\n`}, "claims", "-bogus\n")
	if r := runWith(t, nil, "-bogus"); r.code != 1 || !strings.Contains(r.stderr, "-listen") {
		t.Errorf("a flag alone is the service's: %v", r)
	}
}

func TestTheCommonFlagsAreChecked(t *testing.T) {
	t.Parallel()
	s := &service{t: t}
	s.refused(2, []string{"-json and -table"}, "overview", "-json", "-table")
	s.refused(2, []string{"-timeout"}, "overview", "-timeout", "0s")
	s.refused(2, []string{"-timeout"}, "overview", "-timeout", "10")
	s.refused(2, []string{"-tls-ca"}, "overview", "-tls-ca", "/does/not/exist.pem")
	s.refused(2, []string{"-tls-ca and -tls=false"}, "overview", "-tls-ca", "x", "-tls=false")
	s.refused(2, []string{"-tls"}, "overview", "-tls=perhaps")
}

// destructive are the commands that change something, complete but for -reason.
var destructive = map[string]string{
	"forget claim":  "-namespace a -key k",
	"forget entity": "-namespace a -consumer ledger -entity e",
	"resolve":       "-namespace a -key k -done",
	"reconcile":     "-namespace a -consumer ledger -entity e -sequence 9",
}

func TestWithoutAReasonNothingChanges(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.park("a", "", "k", "unsure")
	s.tie("a", "e")
	before, log := s.entity("a", "e"), len(s.log("a"))
	for name, args := range destructive {
		all := append(strings.Fields(name), strings.Fields(args)...)
		s.refused(2, []string{"onceward " + name + ": -reason is required"}, all...)
		s.refused(2, []string{"-reason is required"}, append(all, "-reason", "")...)
		s.refused(2, []string{"-reason is required"}, append(all, "-reason", " \t")...)
	}
	if state := s.state("a", "", "k"); state != oncewardv1.ClaimState_CLAIM_STATE_PARKED {
		t.Errorf("the claim is %v", state)
	}
	if after := s.entity("a", "e"); !proto.Equal(before, after) {
		t.Errorf("the entity was %v and is %v", before, after)
	}
	if now := s.log("a"); len(now) != log {
		t.Errorf("the log has grown: %v", now)
	}
}

func TestTheAddress(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, addr := range []string{s.addr, "dns:///" + s.addr, strings.Replace(s.addr, "127.0.0.1", "localhost", 1), s.socket} {
		if r := runWith(t, nil, "overview", "-addr", addr); r.code != 0 {
			t.Errorf("-addr %s: %v", addr, r)
		}
		if r := runWith(t, []string{"ONCEWARD_ADDR=" + addr}, "overview"); r.code != 0 {
			t.Errorf("ONCEWARD_ADDR=%s: %v", addr, r)
		}
	}
	if r := runWith(t, []string{"ONCEWARD_ADDR=127.0.0.1:1"}, "overview", "-addr", s.addr); r.code != 0 {
		t.Errorf("the environment beats the flag: %v", r)
	}
	s.refused(1, []string{"UNAVAILABLE", "cannot be reached", "connection refused"}, "overview", "-addr", "127.0.0.1:1")
}
