package cli

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// help documents one command.
func (c *command) help(w io.Writer, getenv func(string) string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "onceward %s %s\n\n%s\n", c.name, c.args, c.does)
	if c.about != "" {
		fmt.Fprintf(&b, "\n%s\n", c.about)
	}
	own := flag.NewFlagSet(c.name, flag.ContinueOnError)
	own.SetOutput(&b)
	c.setup(own)
	if hasFlags(own) {
		fmt.Fprintln(&b, "\nFlags:")
		own.PrintDefaults()
	}
	if !c.local {
		common := flag.NewFlagSet(c.name, flag.ContinueOnError)
		common.SetOutput(&b)
		new(session).flags(common, getenv)
		fmt.Fprintln(&b, "\nFlags of every command that asks a service:")
		common.PrintDefaults()
	}
	fmt.Fprintln(&b, "\nExit code: 0 done, 1 failed, 2 wrong usage.")
	_, err := w.Write(b.Bytes())
	return err
}

func hasFlags(fs *flag.FlagSet) (some bool) {
	fs.VisitAll(func(*flag.Flag) { some = true })
	return some
}

// listCommands answers what is no command: the list if it was asked for, and an
// error otherwise.
func listCommands(args []string, stdout, stderr io.Writer) int {
	group := groupOf(args[0])
	switch {
	case args[0] == "help" && len(args) == 1:
		writeCommands(stdout, commands)
		return ExitDone
	case len(group) > 0 && len(args) == 2 && isHelp(args[1]):
		writeCommands(stdout, group)
		return ExitDone
	case len(group) > 0:
		fmt.Fprintf(stderr, "onceward %s: say what: %s\n", args[0], names(group))
	default:
		fmt.Fprintf(stderr, "onceward: %q is no command; there are: %s\n", args[0], names(commands))
	}
	return ExitUsage
}

// groupOf are the commands of two words that begin with this one.
func groupOf(word string) (group []command) {
	for _, c := range commands {
		if strings.HasPrefix(c.name, word+" ") {
			group = append(group, c)
		}
	}
	return group
}

func isHelp(arg string) bool {
	switch arg {
	case "-h", "--h", "-help", "--help":
		return true
	}
	return false
}

func names(cs []command) string {
	var all []string
	for _, c := range cs {
		all = append(all, c.name)
	}
	return strings.Join(all, ", ")
}

func writeCommands(w io.Writer, cs []command) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range cs {
		fmt.Fprintf(t, "onceward %s\t%s\n", c.name, c.does)
	}
	t.Flush()
	fmt.Fprintln(w, "\nonceward COMMAND -h documents a command, onceward -h the service.")
}
