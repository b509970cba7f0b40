// Command server is the Onceward service: one binary, configured by flags or the
// environment (-h shows both).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/onceward/onceward/server/internal/cli"
	"github.com/onceward/onceward/server/internal/memstore"
	"github.com/onceward/onceward/server/internal/onceward"
	"github.com/onceward/onceward/server/internal/ops"
	"github.com/onceward/onceward/server/internal/policyfile"
	"github.com/onceward/onceward/server/internal/redisstore"
	"github.com/onceward/onceward/server/internal/rpc"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if args := os.Args[1:]; cli.IsCommand(args) {
		os.Exit(cli.Run(ctx, args, os.Getenv, os.Stdout, os.Stderr))
	}
	if os.Getenv("GOGC") == "" {
		// Little lives long here. The default would collect every few megabytes,
		// which costs a quarter of the calls; this costs some memory instead.
		debug.SetGCPercent(400)
	}
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "onceward:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, then drains: NOT_SERVING first, running calls next,
// the store last.
func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	c, err := parse(args, getenv, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	log := c.logger(out)
	policies, err := policyfile.Load(c.policies)
	if err != nil {
		return fmt.Errorf("-config: %w", err)
	}
	warnOf(log, policies)
	store, watched, err := openStore(c, log)
	if err != nil {
		return err
	}
	defer store.Close()

	service := onceward.NewService(store, policies)
	metrics := ops.NewMetrics()
	service.OnDecision(metrics.Decided)
	server, health := rpc.NewServer(service, log, rpc.Config{Reflection: c.reflection, Observe: metrics.Handled})
	readiness := ops.NewReadiness(watched, c.allowEviction, log, func(ready bool) { rpc.SetServing(health, ready) })

	listeners, err := listen(c.listen)
	if err != nil {
		return err
	}
	web, err := listenHTTP(c.httpListen, ops.Handler(readiness, metrics))
	if err != nil {
		return err
	}

	g, ctx := errgroup.WithContext(ctx)
	for _, l := range listeners {
		log.Info("serving gRPC", "address", l.Addr().String())
		g.Go(func() error { return server.Serve(l) })
	}
	g.Go(web.serve)
	g.Go(func() error { readiness.Watch(ctx); return nil })
	g.Go(func() error {
		<-ctx.Done()
		log.Info("draining", "timeout", c.drainTimeout.String())
		readiness.Drain()
		service.Drain()
		drain(server, c.drainTimeout)
		return web.Close()
	})
	return g.Wait()
}

// drain lets running calls finish, and cuts them when the time is up.
func drain(server *grpc.Server, timeout time.Duration) {
	cut := time.AfterFunc(timeout, server.Stop)
	defer cut.Stop()
	server.GracefulStop()
}

// store is an onceward.Store with a way to end it.
type store interface {
	onceward.Store
	io.Closer
}

// openStore opens what the configuration names. watched is what readiness
// follows: nil for the embedded store, which cannot be away.
func openStore(c config, log *slog.Logger) (s store, watched ops.Store, err error) {
	if c.redisURL == "" {
		log.Warn("no redis-url: claims live in this process's memory, are seen by no other process and are gone when it ends")
		return memstore.New(time.Now), nil, nil
	}
	redisstore.LogTo(log)
	r, err := redisstore.Open(redisstore.Mode(c.redisMode), c.redisURL, c.redisPrefix)
	return r, r, err
}

// listen opens every address, or none.
func listen(addresses []string) (ls []net.Listener, err error) {
	for _, a := range addresses {
		network, address := "tcp", a
		if path, ok := strings.CutPrefix(a, "unix://"); ok {
			network, address = "unix", path
			removeStale(path)
		}
		l, err := net.Listen(network, address)
		if err != nil {
			for _, open := range ls {
				open.Close()
			}
			return nil, fmt.Errorf("-listen: %w", err)
		}
		ls = append(ls, l)
	}
	return ls, nil
}

// removeStale removes a socket that nobody listens on any more: one left behind
// by a process that was killed.
func removeStale(path string) {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return
	}
	os.Remove(path)
}

// web is the HTTP listener; without an address it does nothing.
type web struct {
	*http.Server
	listener net.Listener
}

func listenHTTP(address string, h http.Handler) (*web, error) {
	w := &web{Server: &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}}
	if address == "" || address == "off" {
		return w, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("-http-listen: %w", err)
	}
	w.listener = l
	return w, nil
}

func (w *web) serve() error {
	if w.listener == nil {
		return nil
	}
	if err := w.Serve(w.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// warnOf says aloud which namespaces decide nothing, and which settings this
// release reads but does not act on: one that is silently ignored would be a lie.
func warnOf(log *slog.Logger, p *onceward.Policies) {
	warn := func(namespace string, p *onceward.Policy) {
		if p.Shadow {
			log.Warn("shadow mode: every call in this namespace is answered as if there were no duplicates", "namespace", namespace)
		}
		if p.OnStoreDown == onceward.StoreDownOpen {
			log.Warn("on_store_down: open is not served yet: calls fail while the store is down", "namespace", namespace)
		}
	}
	warn("(defaults)", p.Default)
	for name, n := range p.Namespaces {
		if n.Shadow != p.Default.Shadow || n.OnStoreDown != p.Default.OnStoreDown {
			warn(name, n)
		}
	}
}
