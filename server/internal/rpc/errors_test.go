package rpc

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/onceward/onceward/server/internal/onceward"
)

// TestEveryReasonHasACode reads the domain's reasons from its source, so that a
// new one cannot be forgotten here.
func TestEveryReasonHasACode(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../onceward/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(v.Names[0].Name, "Reason") {
			return true
		}
		found++
		reason := onceward.Reason(strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`))
		if code, ok := codeOf[reason]; !ok || code == codes.OK || code == codes.Unknown || code == codes.Internal {
			t.Errorf("%s has the code %v", reason, code)
		}
		return true
	})
	if found != len(codeOf) {
		t.Errorf("the domain has %d reasons, the table %d", found, len(codeOf))
	}
}

func TestStatusCarriesItsDetailsAndNotItsCause(t *testing.T) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	err := toStatus(t.Context(), log, &onceward.Error{
		Reason:     onceward.ReasonStoreUnavailable,
		Message:    "the store could not be asked",
		RetryAfter: time.Second,
		Cause:      errors.New("secret of the driver"),
	})
	st := status.Convert(err)
	if st.Code() != codes.Unavailable || strings.Contains(st.String(), "secret") {
		t.Errorf("status is %v", st)
	}
	var info *errdetails.ErrorInfo
	var retry *errdetails.RetryInfo
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			info = d
		case *errdetails.RetryInfo:
			retry = d
		}
	}
	if info.GetReason() != "STORE_UNAVAILABLE" || info.GetDomain() != "onceward.v1" || retry.GetRetryDelay().AsDuration() != time.Second {
		t.Errorf("details are %v", st.Details())
	}
}

func TestInvalidFieldsAreAllNamed(t *testing.T) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	service := onceward.NewService(nil, onceward.DefaultPolicies())
	_, err := service.Complete(t.Context(), &onceward.CompleteRequest{ClaimID: onceward.ClaimID{Namespace: "a b", Key: "k"}})
	st := status.Convert(toStatus(t.Context(), log, err))
	var fields []string
	for _, d := range st.Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range bad.FieldViolations {
				fields = append(fields, v.Field)
			}
		}
	}
	if got := strings.Join(fields, " "); st.Code() != codes.InvalidArgument || got != "namespace fencing_token" {
		t.Errorf("%v names %q", st, got)
	}
}

func TestAnErrorThatIsNotTheDomainsIsInternalAndSilent(t *testing.T) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	st := status.Convert(toStatus(t.Context(), log, errors.New("secret")))
	if st.Code() != codes.Internal || st.Message() != "internal error" {
		t.Errorf("status is %v", st)
	}
}
