package onceward

import (
	"strconv"
	"time"
)

// Duration is a duration that a request may leave out. Unset is not zero: zero
// is out of bounds wherever a duration has a default.
type Duration struct {
	Set   bool
	Value time.Duration
}

// Of is a duration that was given.
func Of(d time.Duration) Duration { return Duration{Set: true, Value: d} }

func (d Duration) or(def time.Duration) time.Duration {
	if d.Set {
		return d.Value
	}
	return def
}

// within checks an optional duration, if it is there.
func (c *checks) optional(field string, d Duration, least, most time.Duration) {
	if d.Set {
		c.within(field, d.Value, least, most)
	}
}

func (c *checks) within(field string, d, least, most time.Duration) {
	if d < least || d > most {
		c.fail(field, "must be between %s and %s", bound(least), bound(most))
	}
}

// bound writes a duration without the zeros that String adds: 24h, not 24h0m0s.
func bound(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	case d >= time.Second && d%time.Second == 0:
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
	return d.String()
}

// Millis rounds up to whole milliseconds, the resolution of every store: a
// duration above zero never becomes zero.
func Millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

func roundUp(d time.Duration) time.Duration { return time.Duration(Millis(d)) * time.Millisecond }
