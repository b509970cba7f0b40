package client

import (
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/local"
	"google.golang.org/grpc/keepalive"
)

// ServiceConfig is the gRPC service config that [Dial] uses: calls are spread
// over all addresses of the target, and a call that fails with UNAVAILABLE is
// sent up to four times more, after 50 ms, 100 ms, 200 ms and 400 ms. That is
// safe because every call that the client makes may be repeated.
//
// It deliberately holds no timeout, which several gRPC libraries apply wrongly;
// deadlines are set per call. Whoever brings a connection of their own to [New]
// should build it with grpc.WithDefaultServiceConfig(client.ServiceConfig).
const ServiceConfig = `{
  "loadBalancingConfig": [{"round_robin": {}}],
  "methodConfig": [{
    "name": [
      {"service": "onceward.v1.OncewardService"},
      {"service": "onceward.v1.AdminService", "method": "ListEntities"},
      {"service": "onceward.v1.AdminService", "method": "ReconcileEntity"}
    ],
    "retryPolicy": {
      "maxAttempts": 5,
      "initialBackoff": "0.05s",
      "maxBackoff": "1s",
      "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }]
}`

// Dial makes a client for a target in gRPC's syntax: "127.0.0.1:7070",
// "unix:///run/onceward.sock", "dns:///onceward.internal:7070". It does not wait
// for a connection: the first call does. The error is about the target or the
// options, never about the network. The caller must Close the client.
//
// Unix sockets and loopback addresses (localhost, 127.0.0.0/8, ::1) are spoken
// to in plain text, and then only if the connection really ends on this machine.
// Everything else uses TLS with the system's roots. To decide otherwise pass
// grpc.WithTransportCredentials: inside a mesh that encrypts by itself,
// insecure.NewCredentials() is the honest choice.
//
// Options come after the client's own and override them. The client's own are
// [ServiceConfig], reconnecting after 50 ms growing to 2 s, and a keepalive ping
// every 30 s (10 s to answer), also while no call is active, so that a
// connection which a NAT has forgotten is noticed before it is needed.
func Dial(target string, opts ...grpc.DialOption) (*Client, error) {
	conn, err := grpc.NewClient(target, append(dialOptions(target), opts...)...)
	if err != nil {
		return nil, err
	}
	c := New(conn)
	c.conn = conn
	return c, nil
}

func dialOptions(target string) []grpc.DialOption {
	reconnect := backoff.DefaultConfig
	reconnect.BaseDelay = 50 * time.Millisecond
	reconnect.MaxDelay = 2 * time.Second
	return []grpc.DialOption{
		grpc.WithTransportCredentials(defaultCredentials(target)),
		grpc.WithDefaultServiceConfig(ServiceConfig),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           reconnect,
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time:                30 * time.Second,
			Timeout:             10 * time.Second,
			PermitWithoutStream: true,
		}),
	}
}

// defaultCredentials never sends plain text off this machine: the local
// credentials refuse a connection that turns out to lead elsewhere, whatever
// the target's name promised.
func defaultCredentials(target string) credentials.TransportCredentials {
	if isLocal(target) {
		return local.NewCredentials()
	}
	return credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
}

func isLocal(target string) bool {
	if strings.HasPrefix(target, "unix:") || strings.HasPrefix(target, "unix-abstract:") {
		return true
	}
	address := target
	for _, scheme := range []string{"dns:///", "passthrough:///"} {
		address = strings.TrimPrefix(address, scheme)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}
