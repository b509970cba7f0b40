// Package cli has the operators' commands: clients of a running service, in the
// service's own binary.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// The exit codes of Run.
const (
	ExitDone   = 0 // done as asked
	ExitFailed = 1 // the call failed, or changed nothing of what it was to change
	ExitUsage  = 2 // the command line was wrong, and nothing was sent
)

// command is one operators' command.
type command struct {
	name  string // as typed, one word or two
	args  string // what must follow it, for the help
	does  string // in one line
	about string // what else to know
	local bool   // asks no service, so that the common flags have no meaning

	// setup declares the command's own flags and gives what to do once they are
	// parsed.
	setup func(*flag.FlagSet) action
}

// action does a command's work. It returns a usageError before it sends
// anything, if the command line is wrong.
type action func(context.Context, *session) error

var commands = []command{
	claims, entities, decisions, overview,
	reconcile, resolve, forgetClaim, forgetEntity,
	validate,
}

// usageError is what is wrong with the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// IsCommand tells whether arguments name a command. Without one, or with a flag
// in its place, they are the service's.
func IsCommand(args []string) bool {
	return len(args) > 0 && !strings.HasPrefix(args[0], "-")
}

// Run runs the command that args name and gives the exit code. Only what was
// asked for goes to stdout.
func Run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	c, rest := find(args)
	if c == nil {
		return listCommands(args, stdout, stderr)
	}
	err := c.run(ctx, rest, getenv, stdout, stderr)
	var usage usageError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "onceward %s: %s (onceward %s -h shows how)\n", c.name, oneLine(err.Error()), c.name)
		return ExitUsage
	}
	fmt.Fprintf(stderr, "onceward %s: %s\n", c.name, describe(err))
	return ExitFailed
}

// find gives the command that args begin with, and what follows its name.
func find(args []string) (*command, []string) {
	for i := range commands {
		words := strings.Fields(commands[i].name)
		if len(args) >= len(words) && strings.Join(args[:len(words)], " ") == commands[i].name {
			return &commands[i], args[len(words):]
		}
	}
	return nil, nil
}

func (c *command) run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	s := &session{stdout: stdout, stderr: stderr}
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are for Run to print, in one line
	do := c.setup(fs)
	if !c.local {
		s.flags(fs, getenv)
	}
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return c.help(stdout, getenv)
	}
	if err != nil {
		return usageError(err.Error())
	}
	if c.local {
		s.args = fs.Args()
		return do(ctx, s)
	}
	if fs.NArg() > 0 {
		return usageError(fmt.Sprintf("unexpected argument %q", fs.Arg(0)))
	}
	if err := s.open(); err != nil {
		return err
	}
	defer s.conn.Close()
	return do(ctx, s)
}
