package cli

import (
	"context"
	"flag"
	"fmt"

	"github.com/onceward/onceward/server/internal/policyfile"
)

var validate = command{
	name:  "validate",
	args:  "FILE",
	does:  "check a policies file, without a service",
	local: true,
	setup: setupValidate,
}

func setupValidate(*flag.FlagSet) action {
	return func(_ context.Context, s *session) error {
		if len(s.args) != 1 || s.args[0] == "" {
			return usageError("exactly one file is required")
		}
		p, err := policyfile.Load(s.args[0])
		if err != nil {
			return err
		}
		noun := "namespaces"
		if len(p.Namespaces) == 1 {
			noun = "namespace"
		}
		_, err = fmt.Fprintf(s.stdout, "%s is valid: %d %s\n", oneLine(s.args[0]), len(p.Namespaces), noun)
		return err
	}
}
