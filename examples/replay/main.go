// Command replay shows Onceward at work. It delivers webhooks from a file to
// worker processes, kills some of them in the middle of their work, and loses
// replies. Some events are credited to a ledger; at the end it counts how often
// each was. Others tell of the states of charges, late, out of order, in the
// same second or never, and the workers keep a mirror of them; at the end it asks
// the source about what was flagged on the way, and compares the mirror with it.
// Anything but one credit per event, and a faithful mirror, is an error.
//
//	go run ./examples/replay                        # a server of its own, in memory
//	REDIS_URL=redis://127.0.0.1:6379 go run ./examples/replay
//	go run ./examples/replay -addr 127.0.0.1:7070   # a server that runs already
//	go run ./examples/replay -generate 1000 -seed 7 > deliveries.jsonl
//
// A server that runs already must have the namespaces of policies.yaml among its
// policies, for example by -config examples/replay/policies.yaml; without them
// the run ends before the first delivery. It must also serve the operators'
// calls.
//
// The processes and the SIGKILLs are real. The sender, the source of truth and
// the network between them and the workers are played by this program: a
// delivery that is not acknowledged comes again, under a new delivery id.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"

	"github.com/onceward/onceward/client"
)

//go:embed deliveries.jsonl
var shipped []byte

//go:embed policies.yaml
var policies []byte

type options struct {
	file     string
	addr     string
	workers  int
	kill     int
	seed     uint64
	run      string
	generate int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) > 0 && args[0] == workerMode {
		return work(ctx, args[1:], in, out)
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.generate > 0 {
		return writeDeliveries(out, generate(o.generate, o.seed))
	}
	return demonstrate(ctx, o, out)
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.StringVar(&o.file, "file", "", "deliveries to replay, JSON lines (default the built-in ones)")
	flags.StringVar(&o.addr, "addr", "", "gRPC target of a running server that has the policies of policies.yaml, in plain text on this machine, else TLS (default: build and start one, on REDIS_URL if set)")
	flags.IntVar(&o.workers, "workers", 8, "number of worker processes")
	flags.IntVar(&o.kill, "kill", 6, "number of workers to kill in the middle of their work")
	flags.Uint64Var(&o.seed, "seed", 1, "decides whom to kill and when; of -generate, what is generated")
	flags.StringVar(&o.run, "run", "", "appended to namespaces and consumers, so that a run does not meet the keys of another (default random)")
	flags.IntVar(&o.generate, "generate", 0, "write deliveries of this many credited events, and of a charge for every five, to the standard output instead")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.run == "" {
		o.run = fmt.Sprintf("run-%08x", rand.Uint32())
	}
	return o, o.check(flags.Args())
}

var validRun = regexp.MustCompile(`^[A-Za-z0-9._-]{1,24}$`)

func (o options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.workers < 1 || o.kill < 0:
		return errors.New("-workers must be at least 1, -kill at least 0")
	case !validRun.MatchString(o.run):
		return errors.New("-run must be 1 to 24 of A-Z a-z 0-9 . _ -")
	}
	return nil
}

func demonstrate(ctx context.Context, o options, out io.Writer) error {
	deliveries, err := load(o.file)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "replay")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if o.addr == "" {
		server, err := startServer(ctx, scratch, policies)
		if err != nil {
			return err
		}
		defer server.stop()
		o.addr = server.target
	}
	onceward, err := client.Dial(o.addr)
	if err != nil {
		return err
	}
	defer onceward.Close()
	return perform(ctx, o, deliveries, onceward, scratch, out)
}

func perform(ctx context.Context, o options, deliveries []Delivery, onceward *client.Client, scratch string, out io.Writer) error {
	if err := checkPolicies(ctx, onceward); err != nil {
		return err
	}
	ledger, mirror := ledger(filepath.Join(scratch, "ledger")), mirror(filepath.Join(scratch, "mirror"))
	tally, err := replay(ctx, o, made(deliveries), ledger, mirror)
	if err != nil {
		return err
	}
	_, changes := split(deliveries)
	source := newSource(changes)
	m := &mender{onceward: onceward, source: source, mirror: mirror, consumer: consumer(o.run)}
	done, err := m.mend(ctx)
	if err != nil {
		return err
	}
	return errors.Join(
		account(out, deliveries, ledger, tally),
		accountCharges(out, changes, source, mirror, tally, done))
}

// checkPolicies refuses a server that would not keep the order of charges.
func checkPolicies(ctx context.Context, onceward *client.Client) error {
	for _, sender := range []string{countingSender, stampingSender} {
		_, err := onceward.GetClaim(ctx, client.Ref{Namespace: sender, Key: "evt", Entity: "ch"})
		if client.Reason(err) == "ROUTING" {
			return fmt.Errorf("the server does not order the events of %s: start it with the policies of examples/replay/policies.yaml", sender)
		}
		if err != nil {
			return fmt.Errorf("asking the server about %s: %w", sender, err)
		}
	}
	return nil
}
