package cli

import (
	"context"
	"flag"
	"fmt"
	"os"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

var resolve = command{
	name: "resolve",
	args: "-namespace NAME [-consumer NAME] (-key KEY | -part PART…) [-entity NAME] (-done | -not-done) -reason TEXT",
	does: "record what you found out about a claim that nobody works on",
	about: "For a claim that is parked, released or whose lease is over. First look where the effect happens.\n" +
		"-done: it did happen; repeats of the event are answered DUPLICATE with the result. -not-done: it did\n" +
		"not; the next attempt may go ahead, with a fresh count of attempts. The old holder's token ends.",
	setup: setupResolve,
}

// found is what the operator found out.
type found struct {
	done, notDone    bool
	result, fromFile string
}

func (f *found) flags(fs *flag.FlagSet) {
	fs.BoolVar(&f.done, "done", false, "the effect did happen")
	fs.BoolVar(&f.notDone, "not-done", false, "the effect did not happen")
	fs.StringVar(&f.result, "result", "", "with -done: `text` to answer when the event comes again")
	fs.StringVar(&f.fromFile, "result-file", "", "with -done: `file` with what to answer, byte for byte, instead of -result")
}

// fill puts it into the request.
func (f *found) fill(q *oncewardv1.ResolveClaimRequest) (err error) {
	switch {
	case f.done == f.notDone:
		return usageError("exactly one of -done and -not-done is required")
	case f.result != "" && f.fromFile != "":
		return usageError("-result and -result-file exclude each other")
	case f.notDone && f.result+f.fromFile != "":
		return usageError("a result is only for -done")
	}
	q.Resolution = oncewardv1.ResolveClaimRequest_RESOLUTION_NOT_DONE
	if f.done {
		q.Resolution = oncewardv1.ResolveClaimRequest_RESOLUTION_DONE
	}
	q.Result = []byte(f.result)
	if f.fromFile != "" {
		if q.Result, err = os.ReadFile(f.fromFile); err != nil {
			return usageError("-result-file: " + err.Error())
		}
	}
	return nil
}

func setupResolve(fs *flag.FlagSet) action {
	q := &oncewardv1.ResolveClaimRequest{}
	ref := claimRef{&q.Namespace, &q.Consumer, &q.Key, &q.KeyParts, &q.Entity}
	var f found
	ref.flags(fs)
	f.flags(fs)
	reasonFlag(fs, &q.Reason)
	return func(ctx context.Context, s *session) error {
		if err := ref.check(); err != nil {
			return err
		}
		if err := f.fill(q); err != nil {
			return err
		}
		if err := s.act(&q.Actor, q.Reason); err != nil {
			return err
		}
		ctx, cancel := s.call(ctx)
		defer cancel()
		answer, err := s.admin.ResolveClaim(ctx, q)
		if err != nil {
			return err
		}
		return s.print(answer, resolved(ref, f.done, answer.GetClaim()))
	}
}

func resolved(ref claimRef, done bool, is *oncewardv1.Claim) string {
	state := stateName(is.GetState())
	if done {
		return fmt.Sprintf("Resolved %s as done: it is %s, and repeats of the event are duplicates.", ref.named(), state)
	}
	return fmt.Sprintf("Resolved %s as not done: it is %s, and the next attempt may go ahead.", ref.named(), state)
}
