package rpc

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/onceward/onceward/server/internal/onceward"
)

// named is what every request that names a claim has.
type named interface {
	GetNamespace() string
	GetConsumer() string
	GetKey() string
	GetKeyParts() []string
}

func claimID(in named, entity string) (onceward.ClaimID, error) {
	key, err := onceward.ResolveKey(in.GetKey(), in.GetKeyParts())
	return onceward.ClaimID{Namespace: in.GetNamespace(), Consumer: in.GetConsumer(), Key: key, Entity: entity}, err
}

// decoder keeps the first field that is not even well formed.
type decoder struct{ err error }

func (d *decoder) fail(field, description string) {
	if d.err == nil {
		d.err = onceward.Invalid(field, "%s", description)
	}
}

// duration tells unset from zero. Beyond what a time.Duration holds it is the
// longest there is, which every bound refuses.
func (d *decoder) duration(field string, in *durationpb.Duration) onceward.Duration {
	if in == nil {
		return onceward.Duration{}
	}
	if n := in.GetNanos(); n <= -1e9 || n >= 1e9 || (n < 0 && in.GetSeconds() > 0) || (n > 0 && in.GetSeconds() < 0) {
		d.fail(field, "is not a well-formed duration: seconds and nanos must agree in sign")
	}
	return onceward.Of(in.AsDuration())
}

// timestamp is an instant to the millisecond, the resolution of every store; nil
// for the zero Time.
func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t.Truncate(time.Millisecond))
}

// positive is nil for zero.
func positive(d time.Duration) *durationpb.Duration {
	if d <= 0 {
		return nil
	}
	return durationpb.New(d)
}
