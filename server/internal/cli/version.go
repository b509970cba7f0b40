package cli

import (
	"errors"
	"flag"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// versionFlags collects a version. Numbers are decimal and exact: the notations
// of Go's own number flags, where 010 is 8, are not a sender's.
type versionFlags struct {
	v      oncewardv1.Version
	values int // how many kinds were given
	parts  int // how many of -epoch and -rank were given
}

func (f *versionFlags) flags(fs *flag.FlagSet) {
	fs.Func("sequence", "version that counts: a `number` from 0 to 18446744073709551615", f.sequence)
	fs.Func("timestamp", "version that is a `time`, such as 2026-01-31T12:00:00.000000001Z", f.timestamp)
	fs.Func("decimal", "version of 1 to 64 decimal `digits`", f.decimal)
	fs.Func("epoch", "`number` of the counter's incarnation, 0 if not given", f.epoch)
	fs.Func("rank", "`number` that decides between equal versions, 0 if not given", f.rank)
}

// version gives what was collected, or none where that is allowed.
func (f *versionFlags) version(optional bool) (*oncewardv1.Version, error) {
	switch {
	case f.values == 1:
		return &f.v, nil
	case f.values == 0 && f.parts == 0 && optional:
		return nil, nil
	}
	return nil, usageError("exactly one of -sequence, -timestamp and -decimal is required")
}

func (f *versionFlags) sequence(s string) error {
	n, err := strconv.ParseUint(s, 10, 64)
	f.v.Value = &oncewardv1.Version_Sequence{Sequence: n}
	f.values++
	return plain(err)
}

func (f *versionFlags) timestamp(s string) error {
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return errors.New("must be like 2026-01-31T12:00:00.000000001Z")
	}
	if fraction(s) > 9 {
		return errors.New("must not be finer than nanoseconds")
	}
	f.v.Value = &oncewardv1.Version_Timestamp{Timestamp: timestamppb.New(at)}
	f.values++
	return nil
}

// fraction counts the digits after the point, which time.Parse cuts at nine.
func fraction(s string) int {
	_, after, _ := strings.Cut(strings.ReplaceAll(s, ",", "."), ".")
	return len(after) - len(strings.TrimLeft(after, "0123456789"))
}

func (f *versionFlags) decimal(s string) error {
	f.v.Value = &oncewardv1.Version_Decimal{Decimal: s}
	f.values++
	return checkText(s)
}

func (f *versionFlags) epoch(s string) (err error) {
	f.v.Epoch, err = strconv.ParseUint(s, 10, 64)
	f.parts++
	return plain(err)
}

func (f *versionFlags) rank(s string) error {
	n, err := strconv.ParseInt(s, 10, 32)
	f.v.Rank = int32(n)
	f.parts++
	return plain(err)
}

// plain leaves out strconv's function name and the value, which the flag
// package names itself.
func plain(err error) error {
	var bad *strconv.NumError
	if errors.As(err, &bad) {
		return bad.Err
	}
	return err
}
