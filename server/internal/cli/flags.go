package cli

import (
	"errors"
	"flag"
	"strings"
	"unicode/utf8"
)

// text is a flag whose value goes into a request as it is. Given twice it is
// refused, lest the wrong one of two keys be forgotten.
type text string

func (t *text) String() string { return string(*t) }

func (t *text) Set(s string) error {
	if *t != "" {
		return errors.New("it is given twice")
	}
	*t = text(s)
	return checkText(s)
}

// texts is a flag that may be repeated. Every value counts, an empty one too.
type texts []string

func (t *texts) String() string { return strings.Join(*t, " ") }

func (t *texts) Set(s string) error {
	*t = append(*t, s)
	return checkText(s)
}

func checkText(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("it is not UTF-8")
	}
	return nil
}

// claimRef is where a request names its claim.
type claimRef struct {
	namespace, consumer, key *string
	parts                    *[]string
	entity                   *string
}

func (r claimRef) flags(fs *flag.FlagSet) {
	namespaceFlag(fs, r.namespace)
	fs.Var((*text)(r.consumer), "consumer", "`name` of the consumer; empty is a consumer of its own")
	fs.Var((*text)(r.key), "key", "`key` of the claim, given or derived")
	fs.Var((*texts)(r.parts), "part", "`part` that the key is derived from; repeat it, in order, instead of -key")
	fs.Var((*text)(r.entity), "entity", "`name` of the claim's entity; required where the namespace says routing: entity, refused elsewhere")
}

func (r claimRef) check() error {
	if err := need("namespace", *r.namespace); err != nil {
		return err
	}
	if (*r.key == "") == (len(*r.parts) == 0) {
		return usageError("exactly one of -key and -part is required")
	}
	return nil
}

// entityRef is where a request names its entity.
type entityRef struct{ namespace, consumer, entity *string }

func (r entityRef) flags(fs *flag.FlagSet) {
	namespaceFlag(fs, r.namespace)
	fs.Var((*text)(r.consumer), "consumer", "`name` of the consumer; empty is a consumer of its own")
	fs.Var((*text)(r.entity), "entity", "`name` of the entity")
}

func (r entityRef) check() error { return need("namespace", *r.namespace, "entity", *r.entity) }

func namespaceFlag(fs *flag.FlagSet, namespace *string) {
	fs.Var((*text)(namespace), "namespace", "`name` of the namespace")
}

func reasonFlag(fs *flag.FlagSet, reason *string) {
	fs.Var((*text)(reason), "reason", "`text` that says why, for the decision log; required")
}

// act completes a request that changes something.
func (s *session) act(actor *string, reason string) error {
	if err := need("reason", strings.TrimSpace(reason), "actor", s.actor); err != nil {
		return err
	}
	if err := checkText(s.actor); err != nil {
		return usageError("-actor: " + err.Error())
	}
	*actor = s.actor
	return nil
}

// need refuses flags without a value. It takes names and values by turns.
func need(pairs ...string) error {
	var missing []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			missing = append(missing, "-"+pairs[i])
		}
	}
	switch len(missing) {
	case 0:
		return nil
	case 1:
		return usageError(missing[0] + " is required")
	}
	return usageError(strings.Join(missing, " and ") + " are required")
}
