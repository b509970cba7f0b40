// Command bench measures what Onceward's answers cost beside an empty gRPC call,
// a service as one would write it in an afternoon, and Redis alone: all real
// processes on this machine, in turns within one run. Only ratios within a run
// mean something; absolute rates are those of the machine and of its neighbours.
//
//	go run ./bench                      all scenarios, five rounds
//	go run ./bench -only claim,pair     some of them; echo and naive are always run
//	go run ./bench -keys                latency against the number of keys
//	go run ./bench -soak 10m            memory under a long mixed load
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	rounds           int
	duration, warmup time.Duration
	only             string
	keys, strict     bool
	sizes            string
	soak             time.Duration
	json, svg        string
}

func main() {
	if role := os.Getenv(roleVariable); role != "" {
		fatal(serve(role))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fatal(run(ctx, os.Args[1:]))
}

func fatal(err error) {
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (o options, err error) {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.IntVar(&o.rounds, "rounds", 5, "how often every scenario runs")
	fs.DurationVar(&o.duration, "duration", 3*time.Second, "how long it runs each time")
	fs.DurationVar(&o.warmup, "warmup", 500*time.Millisecond, "how long before that it runs unmeasured")
	fs.StringVar(&o.only, "only", "", "`names` of scenarios, separated by commas; empty: all")
	fs.BoolVar(&o.keys, "keys", false, "measure latency against the number of keys instead")
	fs.StringVar(&o.sizes, "sizes", "10000,1000000,5000000", "the `numbers` of keys for -keys")
	fs.DurationVar(&o.soak, "soak", 0, "measure memory under a mixed load of this length instead")
	fs.BoolVar(&o.strict, "strict", false, "fail if a bound is not met")
	fs.StringVar(&o.json, "json", "", "write all figures to this `file`")
	fs.StringVar(&o.svg, "svg", "", "draw throughput and latency into this `file`")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	for name := range strings.SplitSeq(o.only, ",") {
		if known := func(s scenario) bool { return s.name == name }; name != "" && !slices.ContainsFunc(scenarios, known) {
			return o, fmt.Errorf("-only: there is no scenario %q", name)
		}
	}
	if o.rounds < 1 || o.strict && o.only != "" {
		return o, errors.New("-rounds must be at least 1, and -strict needs all scenarios")
	}
	return o, nil
}

// report is all that a run measured.
type report struct {
	Rounds    int
	Scenarios []series `json:",omitempty"`
	Bounds    []bound
	Stage     any `json:",omitempty"` // of -keys and -soak
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	h, err := newHouse()
	if err != nil {
		return err
	}
	defer h.close()
	var r report
	switch {
	case o.keys:
		r, err = runKeys(ctx, h, o)
	case o.soak > 0:
		r, err = runSoak(ctx, h, o)
	default:
		r, err = runRounds(ctx, h, o)
	}
	if err != nil {
		return err
	}
	printBounds(os.Stdout, r.Bounds)
	return conclude(o, r)
}

// conclude writes the files that were asked for, and fails where -strict does.
func conclude(o options, r report) error {
	if o.json != "" {
		text, err := json.MarshalIndent(r, "", "  ")
		if err == nil {
			err = os.WriteFile(o.json, append(text, '\n'), 0o644)
		}
		if err != nil {
			return err
		}
	}
	if o.svg != "" {
		if err := os.WriteFile(o.svg, []byte(plot(r.Scenarios)), 0o644); err != nil {
			return err
		}
	}
	for _, b := range r.Bounds {
		if o.strict && !b.Met {
			return fmt.Errorf("not met: %s", b.What)
		}
	}
	return nil
}

func (o *options) wants(s *scenario) bool {
	return o.only == "" || s.name == "echo" || s.name == "naive" || strings.Contains(","+o.only+",", ","+s.name+",")
}
