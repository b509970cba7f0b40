package onceward

import "strings"

// Act is who does an operator's call, and why. Both are required: the decision
// log is worth nothing otherwise.
type Act struct {
	Actor  string
	Reason string
}

func (a Act) check(c *checks) {
	if a.Actor == "" {
		c.fail("actor", "is required: who does this")
	}
	c.maxBytes("actor", len(a.Actor), MaxActorBytes)
	if a.Reason == "" {
		c.fail("reason", "is required: why this is done")
	}
	c.maxBytes("reason", len(a.Reason), MaxReasonBytes)
}

// refuseHash refuses the hash that lists show in place of an entity's name: taken
// for a name it would be another entity.
func (c *checks) refuseHash(p *Policy, entity string) {
	if !p.ReadableKeys && strings.HasPrefix(entity, hashMark) {
		c.fail("entity", "is the hash that lists show: the namespace keeps no readable names, so give the entity's own")
	}
}
