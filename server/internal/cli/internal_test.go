package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

func TestCell(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"evt_1":                  "evt_1",
		"José 東京 a b":            "José 東京 a b",
		`back\slash and "quote"`: `back\slash and "quote"`,
		`"quoted"`:               `"\"quoted\""`,
		" a":                     `" a"`,
		"a ":                     `"a "`,
		"a  b":                   `"a  b"`,
		"a\tb":                   `"a\tb"`,
		"a\x1b[2J":               `"a\x1b[2J"`,
		"\u009b2J":               `"\u009b2J"`,
		"\u202eevil":             `"\u202eevil"`,
		"\xff":                   `"\xff"`,
	} {
		if got := cell(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	detailed, err := status.New(codes.InvalidArgument, "version: is required").WithDetails(
		&errdetails.ErrorInfo{Reason: "FIELD_INVALID", Domain: "onceward.v1"},
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: "version", Description: "is required"}, {Field: "entity", Description: "is\ntoo long"},
		}},
		&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Second)},
	)
	if err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		`"INVALID_ARGUMENT, the request is not valid: version: is required [FIELD_INVALID]; entity: is\ntoo long; try again after 1s"`: detailed.Err(),
		"PERMISSION_DENIED, you are not allowed to do this: no":                                                                        status.Error(codes.PermissionDenied, "no"),
		"ALREADY_EXISTS: odd": status.Error(codes.AlreadyExists, "odd"),
		`"UNAVAILABLE, the service or its store cannot be reached: a\x1b[2J"`: status.Error(codes.Unavailable, "a\x1b[2J"),
		"write /dev/stdout: no space left on device":                          errors.New("write /dev/stdout: no space left on device"),
		"one\n\"t\\two\"": errors.New("one\nt\two\n"),
	} {
		if got := describe(err); got != want {
			t.Errorf("%v is described as\n%s, want\n%s", err, got, want)
		}
	}
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
		if got := describe(status.Error(c, "x")); strings.Contains(got, "Code(") || !strings.HasSuffix(got, ": x") {
			t.Errorf("%v: %s", c, got)
		}
	}
}

// Plain text never leaves this machine unless it was asked for.
func TestCredentials(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		addr string
		tls  *bool
		want string
	}{
		{"127.0.0.1:7070", nil, "local"},
		{"[::1]:7070", nil, "local"},
		{"localhost:7070", nil, "local"},
		{"dns:///localhost:7070", nil, "local"},
		{"unix:///run/onceward.sock", nil, "local"},
		{"onceward:7070", nil, "tls"},
		{"10.0.0.1:7070", nil, "tls"},
		{"localhost.example:7070", nil, "tls"},
		{"dns:///onceward:7070", nil, "tls"},
		{"127.0.0.1:7070", &yes, "tls"},
		{"onceward:7070", &no, "insecure"},
	} {
		s := &session{addr: c.addr, tls: c.tls}
		creds, err := s.credentials()
		if err != nil || creds.Info().SecurityProtocol != c.want {
			t.Errorf("%s: %v %v, want %s", c.addr, creds.Info(), err, c.want)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                 "0s",
		1234567 * time.Nanosecond:         "1ms",
		90*time.Second + time.Millisecond: "1m30s",
		49 * time.Hour:                    "49h0m0s",
	} {
		if got := age(durationpb.New(d)); got != want {
			t.Errorf("%v is shown as %s, want %s", d, got, want)
		}
	}
	if got := age(nil); got != "" {
		t.Error(got)
	}
}
