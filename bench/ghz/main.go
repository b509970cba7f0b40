// Command ghz runs the load configurations beside it with the pinned ghz and
// checks what came back, since ghz itself exits with 0 whatever happened: every
// call was answered OK, there were as many as asked for, and the server counted
// the verdicts that the configuration must give. Run it from the project's root:
//
//	go run ./bench/ghz
//	go run ./bench/ghz -only claim -redis-url redis://127.0.0.1:6379
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// directory is where the configurations are, seen from the project's root.
const directory = "bench/ghz"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ghz:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("ghz", flag.ExitOnError)
	only := fs.String("only", "", "run only the configuration of this `name`")
	redisURL := fs.String("redis-url", "", "`URL` of the Redis behind the server; empty: the embedded store")
	target := fs.String("target", "", "`address` of a running server, whose verdicts are not checked; empty: start one")
	fs.Parse(args)

	if *target != "" && *redisURL != "" {
		return errors.New("-redis-url is for the server that is started here, not for -target")
	}
	configs, err := load(directory, *only)
	if err != nil {
		return err
	}
	if *target != "" {
		return runAll(ctx, configs, *target, nil)
	}
	s, err := startServer(*redisURL)
	if err != nil {
		return err
	}
	defer s.stop()
	return runAll(ctx, configs, s.Addr, s.decisions)
}

// runAll prints one line for each configuration, and gives all that was off.
// Without decisions the verdicts are not checked.
func runAll(ctx context.Context, configs []config, target string, decisions func(context.Context) (counts, error)) error {
	fmt.Printf("%-10s %8s %10s %10s %10s %7s\n", "config", "calls", "calls/s", "p50", "p99", "errors")
	var off []error
	for _, c := range configs {
		r, err := runOne(ctx, c, target, decisions)
		if r != nil {
			fmt.Printf("%-10s %8d %10.0f %10s %10s %7d\n", c.Name, r.Count, r.RPS, r.percentile(50), r.percentile(99), r.failed())
		}
		if err != nil {
			off = append(off, fmt.Errorf("%s: %w", c.Name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(off...)
}

func runOne(ctx context.Context, c config, target string, decisions func(context.Context) (counts, error)) (*report, error) {
	if decisions == nil {
		r, err := c.run(ctx, target)
		if err != nil {
			return nil, err
		}
		return r, r.check(c)
	}
	before, err := decisions(ctx)
	if err != nil {
		return nil, err
	}
	r, err := c.run(ctx, target)
	if err != nil {
		return nil, err
	}
	after, err := decisions(ctx)
	if err != nil {
		return r, err
	}
	return r, errors.Join(r.check(c), verdicts(c, r.Count, after.since(before)))
}

// round makes a latency readable.
func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
