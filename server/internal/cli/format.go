package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// instant shows a time of the store's clock, which has milliseconds.
func instant(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Format("2006-01-02T15:04:05.000Z07:00")
}

// age shows a duration as precisely as a person needs it.
func age(d *durationpb.Duration) string {
	switch v := d.AsDuration(); {
	case d == nil:
		return ""
	case v < time.Second:
		return v.Truncate(time.Millisecond).String()
	default:
		return v.Truncate(time.Second).String()
	}
}

// version shows a version digit for digit.
func version(v *oncewardv1.Version) string {
	var value string
	switch of := v.GetValue().(type) {
	case *oncewardv1.Version_Sequence:
		value = strconv.FormatUint(of.Sequence, 10)
	case *oncewardv1.Version_Timestamp:
		value = of.Timestamp.AsTime().Format(time.RFC3339Nano)
	case *oncewardv1.Version_Decimal:
		value = of.Decimal
	default:
		return ""
	}
	if v.GetEpoch() != 0 {
		value += fmt.Sprintf(" epoch %d", v.GetEpoch())
	}
	if v.GetRank() != 0 {
		value += fmt.Sprintf(" rank %d", v.GetRank())
	}
	return value
}

// missing shows the holes of an entity.
func missing(e *oncewardv1.EntityState) string {
	var all []string
	for _, r := range e.GetMissing() {
		if r.GetFirst() == r.GetLast() {
			all = append(all, strconv.FormatUint(r.GetFirst(), 10))
		} else {
			all = append(all, fmt.Sprintf("%d-%d", r.GetFirst(), r.GetLast()))
		}
	}
	if e.GetMissingTruncated() {
		all = append(all, "and more")
	}
	return strings.Join(all, ", ")
}

// stateName is a claim's state in words: "in progress".
func stateName(s oncewardv1.ClaimState) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(s.String(), "CLAIM_STATE_"), "_", " "))
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// count shows a number that is 0 where it does not apply.
func count(n int32) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}

// named is a claim in a sentence, as the operator named it.
func (r claimRef) named() string {
	name := fmt.Sprintf("the claim %q", *r.key)
	if *r.key == "" {
		name = fmt.Sprintf("the claim of the parts %q", *r.parts)
	}
	if *r.entity != "" {
		name += fmt.Sprintf(" of entity %q", *r.entity)
	}
	return name + where(*r.consumer, *r.namespace)
}

// named is an entity in a sentence, as the operator named it.
func (r entityRef) named() string {
	return fmt.Sprintf("the entity %q", *r.entity) + where(*r.consumer, *r.namespace)
}

func where(consumer, namespace string) string {
	if consumer == "" {
		return " in " + cell(namespace)
	}
	return fmt.Sprintf(" of consumer %s in %s", cell(consumer), cell(namespace))
}
