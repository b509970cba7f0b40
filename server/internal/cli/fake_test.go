package cli_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// fake is a service that answers what the real one seldom does.
type fake struct {
	oncewardv1.UnimplementedAdminServiceServer
	sizes chan int32    // of the pages that were asked for
	came  chan struct{} // closed when GetOverview is called; it never answers
}

// pages of claims: a short one, an empty one and the last.
var pages = map[string]*oncewardv1.ListClaimsResponse{
	"":       {Claims: []*oncewardv1.Claim{{Key: "1"}, {Key: "2"}}, NextPageToken: "second"},
	"second": {NextPageToken: "third"},
	"third":  {Claims: []*oncewardv1.Claim{{Key: "3"}}},
}

func (f *fake) ListClaims(_ context.Context, q *oncewardv1.ListClaimsRequest) (*oncewardv1.ListClaimsResponse, error) {
	f.sizes <- q.GetPageSize()
	return pages[q.GetPageToken()], nil
}

func (f *fake) GetOverview(ctx context.Context, _ *oncewardv1.GetOverviewRequest) (*oncewardv1.GetOverviewResponse, error) {
	close(f.came)
	<-ctx.Done()
	return nil, ctx.Err()
}

// startFake serves a fake, and gives its address.
func startFake(t *testing.T, f *fake, options ...grpc.ServerOption) string {
	t.Helper()
	f.came, f.sizes = make(chan struct{}), make(chan int32, 100)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(options...)
	oncewardv1.RegisterAdminServiceServer(g, f)
	go g.Serve(l)
	t.Cleanup(g.Stop)
	return l.Addr().String()
}

func TestEmptyPagesAreNotTheEnd(t *testing.T) {
	t.Parallel()
	f := &fake{}
	s := &service{t: t, addr: startFake(t, f)}
	var keys []string
	for _, c := range parse[oncewardv1.Claim](t, s.done("claims", "-namespace", "a")) {
		keys = append(keys, c.GetKey())
	}
	if strings.Join(keys, "") != "123" {
		t.Error(keys)
	}
	s.done("claims", "-namespace", "a", "-limit", "3")
	close(f.sizes)
	var sizes []int32
	for size := range f.sizes {
		sizes = append(sizes, size)
	}
	if want := []int32{200, 200, 200, 3, 1, 1}; !slices.Equal(sizes, want) {
		t.Errorf("pages of %v were asked for, want %v", sizes, want)
	}
}

func TestACallThatTheServiceDoesNotKnow(t *testing.T) {
	t.Parallel()
	s := &service{t: t, addr: startFake(t, &fake{})}
	s.refused(1, []string{"UNIMPLEMENTED", "older than this command"}, "entities", "-namespace", "a")
}

func TestTheTimeout(t *testing.T) {
	t.Parallel()
	s := &service{t: t, addr: startFake(t, &fake{})}
	s.refused(1, []string{"DEADLINE_EXCEEDED, no answer in time"}, "overview", "-timeout", "300ms")
}

func TestAnInterruptEndsACall(t *testing.T) {
	t.Parallel()
	f := &fake{}
	addr := startFake(t, f)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, "overview", "-addr", addr, "-timeout", "1h")
	cmd.Env, cmd.Stderr = environment(), &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-f.came:
	case <-time.After(generous):
		t.Fatal("no call came")
	}
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	checkLine(t, stderr.String(), "CANCELLED, interrupted")
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ca, certificate := newCertificate(t)
	s := &service{t: t, addr: startFake(t, &fake{}, grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))}
	s.done("claims", "-namespace", "a", "-tls-ca", ca)
	s.done("claims", "-namespace", "a", "-tls-ca", ca, "-tls")
	s.refused(1, []string{"UNAVAILABLE", "certificate"}, "claims", "-namespace", "a", "-tls")
	s.refused(1, []string{"UNAVAILABLE"}, "claims", "-namespace", "a")
	plain := &service{t: t, addr: startFake(t, &fake{})}
	plain.refused(1, []string{"UNAVAILABLE"}, "claims", "-namespace", "a", "-tls-ca", ca)
	plain.done("claims", "-namespace", "a", "-tls=false")
}

// newCertificate makes a certificate for 127.0.0.1, and a file to trust it by.
func newCertificate(t *testing.T) (file string, c tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return file, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
