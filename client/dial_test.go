package client_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/onceward/onceward/client"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// servePlain serves the fake without TLS.
func servePlain(t *testing.T, network, address string) (net.Addr, *fakeServer) {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeServer{}
	server := grpc.NewServer()
	oncewardv1.RegisterOncewardServiceServer(server, f)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return listener.Addr(), f
}

func claimThrough(t *testing.T, target string, opts ...grpc.DialOption) error {
	t.Helper()
	c, err := client.Dial(target, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_, err = c.CheckAndClaim(t.Context(), client.ClaimRequest{Namespace: "n", Key: "k"})
	return err
}

func dialTo(address net.Addr) grpc.DialOption {
	return grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, address.Network(), address.String())
	})
}

func TestDial_PlainTextOnThisMachine(t *testing.T) {
	tcp, _ := servePlain(t, "tcp", "127.0.0.1:0")
	unix, _ := servePlain(t, "unix", filepath.Join(t.TempDir(), "s"))
	_, port, err := net.SplitHostPort(tcp.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{
		tcp.String(), "dns:///" + tcp.String(), "passthrough:///" + tcp.String(), "localhost:" + port,
		"unix://" + unix.String(), "unix:" + unix.String(),
	} {
		if err := claimThrough(t, target); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
}

func TestDial_TLSToOtherMachines(t *testing.T) {
	address, f := servePlain(t, "tcp", "127.0.0.1:0")
	for _, target := range []string{"passthrough:///onceward.internal:7070", "passthrough:///10.0.0.1:7070", "passthrough:///[2001:db8::1]:7070", "passthrough:///localhost.example:7070"} {
		if err := claimThrough(t, target, dialTo(address)); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: got %v, want a failed handshake", target, err)
		}
	}
	if len(f.claims) != 0 {
		t.Error("a request was sent in plain text")
	}
}

// A name may lie about where it leads.
func TestDial_PlainTextDoesNotLeaveThisMachine(t *testing.T) {
	elsewhere, far := net.Pipe() // whose address is no loopback address
	defer far.Close()
	leadAway := grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return elsewhere, nil })
	if err := claimThrough(t, "passthrough:///localhost:7070", leadAway); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v, want a refused connection", err)
	}
}

// Several gRPC libraries apply a service config's timeout wrongly.
func TestServiceConfig_HasNoTimeout(t *testing.T) {
	if strings.Contains(strings.ToLower(client.ServiceConfig), "timeout") {
		t.Error(client.ServiceConfig)
	}
}

func TestDial_RefusesATargetItCannotParse(t *testing.T) {
	if _, err := client.Dial("unix://host/path\x00"); err == nil {
		t.Error("no error")
	}
}
