package cli

import (
	"crypto/tls"
	"net"
	"net/netip"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/local"
)

// credentials decides how to speak to the service. Keys and reasons do not leave
// this machine in plain text unless that was asked for.
func (s *session) credentials() (credentials.TransportCredentials, error) {
	switch {
	case s.ca != "" && s.tls != nil && !*s.tls:
		return nil, usageError("-tls-ca and -tls=false exclude each other")
	case s.ca != "":
		c, err := credentials.NewClientTLSFromFile(s.ca, "")
		if err != nil {
			return nil, usageError("-tls-ca: " + err.Error())
		}
		return c, nil
	case s.tls != nil && !*s.tls:
		return insecure.NewCredentials(), nil
	case s.tls == nil && isLocal(s.addr):
		return local.NewCredentials(), nil // refuses what turns out to be elsewhere
	}
	return credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12}), nil
}

// isLocal tells whether an address is on this machine by its form: a unix
// socket, localhost or a loopback address.
func isLocal(addr string) bool {
	if strings.HasPrefix(addr, "unix:") || strings.HasPrefix(addr, "unix-abstract:") {
		return true
	}
	for _, scheme := range []string{"dns:///", "passthrough:///"} {
		addr = strings.TrimPrefix(addr, scheme)
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}
