package onceward

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
