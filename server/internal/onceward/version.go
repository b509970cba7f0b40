package onceward

import (
	"cmp"
	"encoding/binary"
	"errors"
	"strings"
	"time"
)

// VersionKind is how a sender counts. The zero kind is no version.
type VersionKind uint8

// The kinds. They do not mix on one entity.
const (
	Sequence VersionKind = iota + 1
	Timestamp
	Decimal
)

// Version is an event's place in its entity's order: epoch, then the value of
// its kind, then rank. The zero Version is none.
type Version struct {
	Epoch uint64
	Kind  VersionKind
	Rank  int32

	Sequence uint64
	Time     time.Time // UTC, to the nanosecond
	Decimal  string    // as it was sent, leading zeros included
}

// IsZero tells whether there is no version.
func (v Version) IsZero() bool { return v.Kind == 0 }

// Compare orders two versions of one kind: -1, 0 or 1.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Epoch, w.Epoch), v.compareValue(w), cmp.Compare(v.Rank, w.Rank))
}

func (v Version) compareValue(w Version) int {
	switch v.Kind {
	case Timestamp:
		return v.Time.Compare(w.Time)
	case Decimal:
		a, b := digits(v.Decimal), digits(w.Decimal)
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	}
	return cmp.Compare(v.Sequence, w.Sequence)
}

// digits are those of a decimal that count.
func digits(s string) string { return strings.TrimLeft(s, "0") }

const (
	maxDecimalDigits = 64

	// rankBias makes ranks order as unsigned numbers.
	rankBias = 1 << 31
)

// The instants that a version may be. Outside it is most likely milliseconds
// taken for seconds, or the other way round.
var (
	firstInstant = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	lastInstant  = time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)
)

// check refuses what is no version. A version that is not there is refused by
// whoever needs one.
func (v Version) check(field string) error {
	switch v.Kind {
	case Timestamp:
		if v.Time.Before(firstInstant) || v.Time.After(lastInstant) {
			return &Error{
				Reason:     ReasonVersionUnit,
				Message:    field + ".timestamp: is before 2000 or after 9999; are the units right?",
				Violations: []Violation{{Field: field + ".timestamp", Description: "must be from the year 2000 to 9999; are its units seconds?"}},
			}
		}
	case Decimal:
		if len(v.Decimal) == 0 || len(v.Decimal) > maxDecimalDigits || strings.Trim(v.Decimal, "0123456789") != "" {
			return Invalid(field+".decimal", "must be 1 to %d decimal digits, without a sign", maxDecimalDigits)
		}
	}
	return nil
}

// Encode writes a version so that two of one kind order as their bytes do, the
// last one left out for decimals: epoch (8 bytes, big-endian), kind (1), value,
// rank (4, biased). The value is a sequence (8), a timestamp as seconds and
// nanoseconds (8, 4), or a decimal as the count of its digits (1) and the
// digits; its last byte of all is the count of leading zeros, which do not count
// and must come back. No version encodes as "".
func (v Version) Encode() string {
	if v.IsZero() {
		return ""
	}
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 32), v.Epoch)
	b = append(b, byte(v.Kind))
	switch v.Kind {
	case Sequence:
		b = binary.BigEndian.AppendUint64(b, v.Sequence)
	case Timestamp:
		b = binary.BigEndian.AppendUint64(b, uint64(v.Time.Unix()))
		b = binary.BigEndian.AppendUint32(b, uint32(v.Time.Nanosecond()))
	case Decimal:
		d := digits(v.Decimal)
		b = append(append(b, byte(len(d))), d...)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(int64(v.Rank)+rankBias))
	if v.Kind == Decimal {
		b = append(b, byte(len(v.Decimal)-len(digits(v.Decimal))))
	}
	return string(b)
}

var errVersion = errors.New("a stored version cannot be read")

// DecodeVersion reads what Encode wrote.
func DecodeVersion(s string) (v Version, err error) {
	if s == "" {
		return Version{}, nil
	}
	if len(s) < 9 {
		return Version{}, errVersion
	}
	v.Epoch, v.Kind = binary.BigEndian.Uint64([]byte(s)), VersionKind(s[8])
	rest := []byte(s[9:])
	switch {
	case v.Kind == Sequence && len(rest) == 12:
		v.Sequence, rest = binary.BigEndian.Uint64(rest), rest[8:]
	case v.Kind == Timestamp && len(rest) == 16:
		v.Time = time.Unix(int64(binary.BigEndian.Uint64(rest)), int64(binary.BigEndian.Uint32(rest[8:]))).UTC()
		rest = rest[12:]
	case v.Kind == Decimal && len(rest) >= 1 && len(rest) == 1+int(rest[0])+5:
		n := int(rest[0])
		v.Decimal = strings.Repeat("0", int(rest[len(rest)-1])) + string(rest[1:1+n])
		rest = rest[1+n : len(rest)-1]
	default:
		return Version{}, errVersion
	}
	v.Rank = int32(int64(binary.BigEndian.Uint32(rest)) - rankBias)
	if v.check("version") != nil || v.Encode() != s {
		return Version{}, errVersion
	}
	return v, nil
}
