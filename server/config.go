package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/onceward/onceward/server/internal/redisstore"
)

// config is what the process is told. Every part is a flag, and every flag can
// be set from the environment; -h shows all of it.
type config struct {
	listen        list
	httpListen    string
	redisURL      string
	redisMode     string
	redisPrefix   string
	policies      string
	logFormat     string
	logLevel      slog.Level
	reflection    bool
	allowEviction bool
	drainTimeout  time.Duration
}

// list is a flag that may be given several times; commas separate too.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			*l = append(*l, part)
		}
	}
	return nil
}

// parse reads flags, and the environment for the flags that were not given.
func parse(args []string, getenv func(string) string, out io.Writer) (config, error) {
	var c config
	fs := flag.NewFlagSet("onceward server", flag.ContinueOnError)
	fs.SetOutput(out)
	fs.Var(&c.listen, "listen", "gRPC `address`, host:port or unix:///path; repeatable (default 127.0.0.1:7070)")
	fs.StringVar(&c.httpListen, "http-listen", "127.0.0.1:7071", "HTTP `address` of /healthz, /readyz and /metrics; off: none")
	fs.StringVar(&c.redisURL, "redis-url", "", "Redis, as redis://, rediss:// or unix:// `URL`; empty: an embedded store in this process's memory, for trying out")
	fs.StringVar(&c.redisMode, "redis-mode", string(redisstore.Standalone), "`mode` of that Redis: standalone, sentinel or cluster")
	fs.StringVar(&c.redisPrefix, "redis-prefix", redisstore.DefaultPrefix, "`prefix` of every key; starts with the layout's version, "+redisstore.DefaultPrefix)
	fs.StringVar(&c.policies, "config", "", "policies `file` (YAML); empty: the built-in defaults for every namespace")
	fs.StringVar(&c.logFormat, "log-format", "", "text or json (default text on a terminal, else json)")
	fs.TextVar(&c.logLevel, "log-level", slog.LevelInfo, "debug, info, warn or error")
	fs.BoolVar(&c.reflection, "reflection", true, "serve gRPC reflection")
	fs.BoolVar(&c.allowEviction, "allow-eviction", false, "be ready although Redis may evict records")
	fs.DurationVar(&c.drainTimeout, "drain-timeout", 20*time.Second, "how long running calls may take to finish after SIGTERM")
	fs.VisitAll(func(f *flag.Flag) { f.Usage += " [" + variable(f.Name) + "]" })
	fs.Usage = func() { usage(fs, out) }
	if err := fs.Parse(args); err != nil {
		return c, err
	}
	if fs.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if err := fromEnvironment(fs, getenv); err != nil {
		return c, err
	}
	if len(c.listen) == 0 {
		c.listen = list{"127.0.0.1:7070"}
	}
	return c, c.check()
}

func usage(fs *flag.FlagSet, out io.Writer) {
	fmt.Fprintln(out, "onceward answers, before a side effect, whether it has been done, is being done, or is yours to do.")
	fmt.Fprintln(out, "\nFlags, and in brackets the environment's name for each:")
	fs.PrintDefaults()
	fmt.Fprintln(out, "\nOperators' commands; onceward COMMAND -h documents each:\nclaims, entities, decisions, overview, reconcile, resolve, forget claim, forget entity, validate")
}

// variable is the environment's name for a flag.
func variable(name string) string {
	return "ONCEWARD_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

func fromEnvironment(fs *flag.FlagSet, getenv func(string) string) error {
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var errs []error
	fs.VisitAll(func(f *flag.Flag) {
		if v := getenv(variable(f.Name)); v != "" && !given[f.Name] {
			if err := fs.Set(f.Name, v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", variable(f.Name), err))
			}
		}
	})
	return errors.Join(errs...)
}

func (c *config) check() error {
	switch c.logFormat {
	case "", "text", "json":
	default:
		return fmt.Errorf("-log-format is %q, must be text or json", c.logFormat)
	}
	if c.drainTimeout <= 0 {
		return errors.New("-drain-timeout must be above 0")
	}
	return redisstore.Check(redisstore.Mode(c.redisMode), c.redisPrefix)
}

func (c *config) logger(out io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.logLevel}
	f, isFile := out.(*os.File)
	if c.logFormat == "text" || c.logFormat == "" && isFile && term.IsTerminal(int(f.Fd())) {
		return slog.New(slog.NewTextHandler(out, o))
	}
	return slog.New(slog.NewJSONHandler(out, o))
}
