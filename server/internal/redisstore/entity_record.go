package redisstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward/server/internal/onceward"
)

// The bits of an entity record's flags; see entity_record.lua.
const (
	bitApplied = 1 << iota
	bitFirstSeen
	bitGap
	bitTie
	bitTransition
	bitTruncated
	bitPlain // the version is kept without its epoch and rank, both 0
	bitHeld

	openShift = 2 // from the bits of the open reasons to a FlagReason
)

var errEntityRecord = errors.New("an entity record cannot be read")

// entityRecord is an entity with the names that a flagged record keeps.
type entityRecord struct {
	onceward.Entity
	onceward.EntityID
}

// decodeEntity reads an entity record as the scripts write it; "" is an unknown
// entity.
func decodeEntity(record string) (e entityRecord, err error) {
	if record == "" {
		return e, nil
	}
	r := reader{left: record}
	schema, flags := r.uint(1), r.uint(1)
	e.AppliedAt = millisOrZero(r.uint(6))
	version := r.text(1)
	r.text(1) // the request's hash means nothing here
	e.EventID, e.State = r.text(2), r.text(1)
	e.Applied, e.FirstSeen = flags&bitApplied != 0, flags&bitFirstSeen != 0
	e.Truncated, e.Held = flags&bitTruncated != 0, flags&bitHeld != 0
	e.Open = onceward.FlagReason(flags >> openShift & 7)
	if e.Open != 0 {
		e.Reason = onceward.FlagReason(r.uint(1) >> openShift)
		e.FlaggedAt = millisOrZero(r.uint(6))
		e.Namespace, e.Consumer, e.EntityID.Entity = r.text(1), r.text(1), r.text(2)
		e.Missing = decodeRanges(&r, r.text(2))
	}
	if flags&bitPlain != 0 {
		version = "\x00\x00\x00\x00\x00\x00\x00\x00" + version + "\x80\x00\x00\x00"
	}
	if e.Version, err = onceward.DecodeVersion(version); err != nil {
		return entityRecord{}, err
	}
	if schema != 1 || r.short || len(r.left) > 0 {
		return entityRecord{}, errEntityRecord
	}
	return e, nil
}

func decodeRanges(r *reader, s string) (out []onceward.Range) {
	r.short = r.short || len(s)%16 != 0
	for ; len(s) >= 16; s = s[16:] {
		out = append(out, onceward.Range{
			First: binary.BigEndian.Uint64([]byte(s[:8])),
			Last:  binary.BigEndian.Uint64([]byte(s[8:16])),
		})
	}
	return out
}

func millisOrZero(ms uint64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms))
}

// entity decodes the record that stands in a reply.
func (r *reply) entity() entityRecord {
	e, err := decodeEntity(r.text(2))
	if err != nil {
		r.unreadable(err)
	}
	return e
}

func (r *reply) version() onceward.Version {
	v, err := onceward.DecodeVersion(r.text(1))
	if err != nil {
		r.unreadable(err)
	}
	return v
}

// unreadable fails the reply because of what is stored, not because of its form.
func (r *reply) unreadable(err error) {
	if r.err == nil {
		r.err = onceward.Unreadable(fmt.Errorf("%s: %w", r.script, err))
	}
}
