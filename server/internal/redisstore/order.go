package redisstore

import (
	"encoding/binary"
	"strings"

	"github.com/onceward/onceward/server/internal/onceward"
)

// rules are the arguments that rules_of reads: how a namespace orders, and what
// may come before an event's state.
func rules(o *onceward.Ordering, state string) []any {
	first := ""
	if o.First != nil {
		first = string(binary.BigEndian.AppendUint64(nil, *o.First))
	}
	return []any{string(o.Gap), first, onceward.Millis(o.MaxFutureSkew), before(o, state)}
}

// before lists the states that may come before one, each between two zero bytes:
// "" stands for any. A state that nothing may come before is a single zero byte,
// in which no state is found.
func before(o *onceward.Ordering, state string) string {
	if state == "" || len(o.Transitions) == 0 {
		return ""
	}
	states := o.Before(state)
	if len(states) == 0 {
		return "\x00"
	}
	return "\x00" + strings.Join(states, "\x00") + "\x00"
}

// subject is what the log, and an open record, show of a claim: namespace,
// consumer, entity, key.
func subject(p *onceward.Policy, id onceward.ClaimID) []any {
	return []any{id.Namespace, id.Consumer, p.Readable(id.Entity), p.Readable(id.Key)}
}
