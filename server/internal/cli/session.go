package cli

import (
	"context"
	"flag"
	"io"
	"os"
	"os/user"
	"strconv"
	"time"

	"golang.org/x/term"
	"google.golang.org/grpc"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// session is what every command works with: the common flags, the connection
// and the output.
type session struct {
	addr    string
	actor   string
	timeout time.Duration
	tls     *bool // nil: not said
	ca      string
	json    bool
	table   bool

	args           []string // what follows the flags, for local commands
	stdout, stderr io.Writer
	conn           *grpc.ClientConn
	admin          oncewardv1.AdminServiceClient
}

// flags declares the common flags.
func (s *session) flags(fs *flag.FlagSet, getenv func(string) string) {
	addr := getenv("ONCEWARD_ADDR")
	if addr == "" {
		addr = "127.0.0.1:7070"
	}
	actor := getenv("ONCEWARD_ACTOR")
	if actor == "" {
		actor = accountName()
	}
	fs.StringVar(&s.addr, "addr", addr, "`address` of the service, host:port or unix:///path; environment: ONCEWARD_ADDR")
	fs.StringVar(&s.actor, "actor", actor, "`name` of who does it, for the decision log; environment: ONCEWARD_ACTOR, else this account's name")
	fs.DurationVar(&s.timeout, "timeout", 10*time.Second, "`time` that one call may take; a list needs one call per page")
	fs.BoolFunc("tls", "speak TLS; this is the default for addresses that are not on this machine, and -tls=false is plain text", func(v string) error {
		on, err := strconv.ParseBool(v)
		s.tls = &on
		return err
	})
	fs.StringVar(&s.ca, "tls-ca", "", "trust the certificates in this PEM `file` instead of the system's; implies -tls")
	fs.BoolVar(&s.json, "json", false, "print one JSON object per line, 64-bit numbers as strings; the default when stdout is not a terminal")
	fs.BoolVar(&s.table, "table", false, "print for people; the default on a terminal")
}

// accountName is the name of the account that runs this, or "" in a container
// that has none.
func accountName() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

// open checks the common flags and prepares the connection. Nothing is sent
// before the first call.
func (s *session) open() (err error) {
	switch {
	case s.json && s.table:
		return usageError("-json and -table exclude each other")
	case s.timeout <= 0:
		return usageError("-timeout must be above 0")
	}
	if !s.table {
		s.json = s.json || !isTerminal(s.stdout)
	}
	creds, err := s.credentials()
	if err != nil {
		return err
	}
	s.conn, err = grpc.NewClient(s.addr, grpc.WithTransportCredentials(creds))
	if err != nil {
		return usageError("-addr: " + err.Error())
	}
	s.admin = oncewardv1.NewAdminServiceClient(s.conn)
	return nil
}

// call bounds one call.
func (s *session) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.timeout)
}

func isTerminal(w io.Writer) bool {
	f, isFile := w.(*os.File)
	return isFile && term.IsTerminal(int(f.Fd()))
}
