// Command memory measures what a finished claim and an entity cost in Redis,
// against the plain SET with an expiry that teams write by hand. It starts a
// redis-server and a server of its own, and fills them over gRPC like any client.
// It fails where a kind costs more than its limit.
//
//	go run ./bench/memory -n 1000000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/onceward/onceward/bench/procs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "memory:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("memory", flag.ExitOnError)
	n := fs.Int("n", 100_000, "how many `keys` of each kind; below some ten thousand the connections weigh more than the keys")
	fs.Parse(args)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp("", "onceward-memory-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r, err := procs.StartRedis(dir)
	if err != nil {
		return err
	}
	defer r.Stop()
	store := &redisServer{r}
	server, err := startServer(dir, r.URL())
	if err != nil {
		return err
	}
	defer server.stop()

	return measureAll(ctx, store, server, *n)
}

// measureAll prints one line for each kind of key.
func measureAll(ctx context.Context, store *redisServer, server *server, n int) error {
	fmt.Printf("%d keys each, bytes of used_memory per key\n\n", n)
	if err := server.fill(ctx, n/10+1000, kinds[0], nothing); err != nil { // opens connections, loads scripts
		return err
	}
	const set64 = "SET <64 hex> 1 EX 3600"
	set, err := store.costOf(ctx, n, func(p progress) error { return store.fillPlain(ctx, n, p) }, set64)
	if err != nil {
		return err
	}
	fmt.Printf("%-44s %8.1f\n", set64, set)
	var over []error
	for _, k := range kinds {
		cost, err := store.costOf(ctx, n, func(p progress) error { return server.fill(ctx, n, k, p) }, k.name)
		if err != nil {
			return err
		}
		fmt.Printf("%-44s %8.1f   ratio %.3f\n", k.name, cost, cost/set)
		if k.limit > 0 && cost/set > k.limit {
			over = append(over, fmt.Errorf("%s costs %.3f times a plain SET, more than %.2f", k.name, cost/set, k.limit))
		}
	}
	return errors.Join(over...)
}
