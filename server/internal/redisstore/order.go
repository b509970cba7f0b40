package redisstore

import (
	"encoding/binary"
	"strings"

	"github.com/onceward/onceward/server/internal/onceward"
)

// rules are what rules_of unpacks: how a namespace orders, and what may come
// before an event's state.
func (p *packer) rules(o *onceward.Ordering, state string) {
	switch o.Gap {
	case onceward.GapHold:
		p.byte(1)
	case onceward.GapApply:
		p.byte(2)
	default:
		p.byte(0)
	}
	first := ""
	if o.First != nil {
		first = string(binary.BigEndian.AppendUint64(nil, *o.First))
	}
	p.text8(first)
	p.millis(o.MaxFutureSkew)
	p.text32(before(o, state))
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
func (p *packer) subject(policy *onceward.Policy, id onceward.ClaimID) {
	p.text8(id.Namespace)
	p.text8(id.Consumer)
	p.text16(policy.Readable(id.Entity))
	p.text16(policy.Readable(id.Key))
}

// entityNames is what the log, and a flagged record, show of an entity.
func (p *packer) entityNames(policy *onceward.Policy, id onceward.EntityID) {
	p.text8(id.Namespace)
	p.text8(id.Consumer)
	p.text16(policy.Readable(id.Entity))
}

// audit is which decisions the script writes down; see decision_log.lua.
func (p *packer) audit(policy *onceward.Policy) {
	switch policy.Audit {
	case onceward.AuditAll:
		p.byte(2)
	case onceward.AuditExceptions:
		p.byte(1)
	default:
		p.byte(0)
	}
}
