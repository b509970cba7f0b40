package client

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// Version is an event's place in the order of its entity, as the source counts:
// made by [Sequence], [Timestamp] or [Decimal]. Versions compare by epoch, then
// value, then rank, exactly. All versions of one entity must be of one kind: the
// service refuses another (reason VERSION_KIND_MISMATCH).
type Version = oncewardv1.Version

// Sequence is a version of an entity whose source counts its events. Epoch and
// Rank of the result may be set: a higher epoch wins whatever the value, and the
// rank decides between equal values.
func Sequence(n uint64) *Version {
	return &Version{Value: &oncewardv1.Version_Sequence{Sequence: n}}
}

// Timestamp is a version by the source's own clock, to the nanosecond. Never use
// the time of receipt. Instants before the year 2000 are refused as an error of
// unit.
func Timestamp(at time.Time) *Version {
	return &Version{Value: &oncewardv1.Version_Timestamp{Timestamp: timestamppb.New(at)}}
}

// Decimal is a version of 1 to 64 decimal digits without a sign, compared as a
// number, for counters that do not fit 64 bits.
func Decimal(digits string) *Version {
	return &Version{Value: &oncewardv1.Version_Decimal{Decimal: digits}}
}
