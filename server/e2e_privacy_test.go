package main

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/durationpb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/redistest"
)

// What callers entrust to the service, and the parts of it that would give it away.
const (
	privateKey    = "cliente@example.test|000"
	privateResult = "iban=PT50000201231234567890154"
	privateEntity = "patient/4711"
	password      = "s3cr3t-of-redis"
)

var private = []string{privateKey, "cliente@", "example.test", privateResult, "PT500002", privateEntity, "patient", password}

func TestKeysAndResultsAppearInNoLogAndNoError(t *testing.T) {
	t.Parallel() // mostly waits
	r := redistest.Start(t)
	proxy := redistest.StartProxy(t, r.Addr)
	url := strings.Replace(on(proxy), "redis://", "redis://:"+password+"@", 1)
	p := startServer(t, url, "ONCEWARD_LOG_LEVEL=debug", withPolicies(t, strictPolicies))
	w := &privacy{t: t, p: p}

	token := p.hold(privateAttempt()).GetFencingToken()
	w.calls("a healthy store", token)
	w.badRequests()
	r.Do("CONFIG", "SET", "maxmemory", "1")
	w.calls("a full store", token)
	proxy.SwallowReplies(8, true)
	w.calls("lost replies", token)
	r.Do("CONFIG", "SET", "requirepass", "another")
	proxy.Refuse()
	proxy.Accept()
	w.calls("a store that knows another password", token)
	r.Kill()
	w.calls("a store that is away", token)
	w.nothingIn("the log", p.log.String())
}

// Redis repeats the arguments of a command that it does not know.
func TestKeysAppearInNoLogOfACommandThatIsRenamed(t *testing.T) {
	for _, command := range []string{"EVALSHA", "EVAL"} {
		r := redistest.Start(t, "--rename-command", command, "")
		p := startServer(t, on(r), "ONCEWARD_LOG_LEVEL=debug")
		w := &privacy{t: t, p: p}
		w.calls("a store without "+command, 1)
		w.nothingIn("the log", p.log.String())
	}
}

func TestKeysAppearInNoLogOfAnUnreadableRecord(t *testing.T) {
	s := startBelow(t, "ONCEWARD_LOG_LEVEL=debug")
	for _, plant := range foreign {
		token, record := s.holdAt(t, privateAttempt())
		plant(s.redis, record, s.redis.Do("GET", record).(string))
		w := &privacy{t: t, p: s.process}
		w.calls("an unreadable record", token)
		s.redis.Do("DEL", record)
	}
	(&privacy{t: t, p: s.process}).nothingIn("the log", s.log.String())
}

type privacy struct {
	t *testing.T
	p *process
}

func privateAttempt() *oncewardv1.CheckAndClaimRequest {
	q := attempt(privateKey)
	q.Owner, q.Fingerprint = privateEntity, []byte(privateEntity)
	return q
}

// calls makes every call with private values and looks at the errors.
func (w *privacy) calls(when string, token int64) {
	w.t.Helper()
	done := completion(privateKey, token)
	done.Result = []byte(privateResult)
	back := release(privateKey, token)
	back.Reason = privateResult
	for _, c := range []call{
		w.p.call("CheckAndClaim", privateAttempt()),
		w.p.call("ExtendLease", extension(privateKey, token)),
		w.p.call("GetClaim", reading(privateKey)),
		w.p.call("Release", back),
		w.p.call("Complete", done),
	} {
		w.nothingIn(c.name+" with "+when, everythingIn(c.do()))
	}
}

// badRequests puts private values wherever they are refused.
func (w *privacy) badRequests() {
	w.t.Helper()
	ordered := attempt(privateKey)
	ordered.Order = &oncewardv1.Order{Entity: privateEntity}
	unset := attempt(privateKey)
	unset.Lease = &durationpb.Duration{}
	parts := attempt(privateKey)
	parts.KeyParts = []string{privateKey}
	big := completion(privateKey, 1)
	big.Result = []byte(strings.Repeat(privateResult, 10_000))
	for name, q := range map[string]any{
		"order":         ordered,
		"zero lease":    unset,
		"key and parts": parts,
		"namespace":     attempt(privateKey, in(privateKey)),
		"consumer":      &oncewardv1.GetClaimRequest{Namespace: namespace, Consumer: privateKey, Key: privateKey},
		"long key":      attempt(strings.Repeat(privateKey, 100)),
		"long owner":    &oncewardv1.CheckAndClaimRequest{Namespace: namespace, Key: privateKey, Owner: strings.Repeat(privateEntity, 100)},
		"big result":    big,
		"entity":        &oncewardv1.GetClaimRequest{Namespace: namespace, Key: privateKey, Entity: privateEntity},
	} {
		err := w.p.call(name, q).answer()
		if c := status.Code(err); c != codes.InvalidArgument && c != codes.FailedPrecondition {
			w.t.Errorf("%s: %v, want it refused", name, err)
		}
		w.nothingIn(name, everythingIn(err))
	}
}

func (w *privacy) nothingIn(what, text string) {
	w.t.Helper()
	for _, secret := range private {
		if at := strings.Index(text, secret); at >= 0 {
			w.t.Errorf("%s has %q: …%s…", what, secret, text[max(0, at-200):min(len(text), at+200)])
		}
	}
}

// everythingIn is the text of an error and of its details.
func everythingIn(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	for _, d := range status.Convert(err).Details() {
		switch d := d.(type) {
		case *errdetails.BadRequest:
			text += prototext.Format(d)
		case *errdetails.ErrorInfo:
			text += prototext.Format(d)
		case *errdetails.RetryInfo:
			text += prototext.Format(d)
		default:
			text += fmt.Sprint(d)
		}
	}
	return text
}
