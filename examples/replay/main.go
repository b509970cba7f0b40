// Command replay shows Onceward at work. It delivers webhooks from a file to
// worker processes that credit a ledger, kills some of them in the middle of
// their work, loses replies, and counts at the end how often each event was
// credited. Anything but once is an error.
//
//	go run ./examples/replay                        # a server of its own, in memory
//	REDIS_URL=redis://127.0.0.1:6379 go run ./examples/replay
//	go run ./examples/replay -addr 127.0.0.1:7070   # a server that runs already
//	go run ./examples/replay -generate 1000 -seed 7 > deliveries.jsonl
//
// The processes and the SIGKILLs are real. The sender and the network between it
// and the workers are played by this program: a delivery that is not
// acknowledged comes again, under a new delivery id.
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
	"regexp"
)

//go:embed deliveries.jsonl
var shipped []byte

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
	flags.StringVar(&o.addr, "addr", "", "gRPC target of a running server, in plain text on this machine, else TLS (default: build and start one, on REDIS_URL if set)")
	flags.IntVar(&o.workers, "workers", 8, "number of worker processes")
	flags.IntVar(&o.kill, "kill", 3, "number of workers to kill in the middle of their work")
	flags.Uint64Var(&o.seed, "seed", 1, "decides whom to kill and when; of -generate, what is generated")
	flags.StringVar(&o.run, "run", "", "appended to every namespace, so that a run does not meet the keys of another (default random)")
	flags.IntVar(&o.generate, "generate", 0, "write deliveries of this many events to the standard output instead")
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
		server, err := startServer(ctx, scratch)
		if err != nil {
			return err
		}
		defer server.stop()
		o.addr = server.target
	}
	tally, ledger, err := replay(ctx, o, deliveries, scratch)
	if err != nil {
		return err
	}
	return account(out, deliveries, ledger, tally)
}
