package onceward

// ForgetEntityRequest removes what is remembered of an entity. A claim in
// progress keeps it.
type ForgetEntityRequest struct {
	EntityID
	Act

	Policy *Policy
}

func (q *ForgetEntityRequest) resolve(p *Policy) error {
	var c checks
	q.EntityID.check(&c)
	c.refuseHash(p, q.Entity)
	q.Act.check(&c)
	q.Policy = p
	return c.err()
}

// DecideForgetEntity gives the entity that follows.
func DecideForgetEntity(e Entity) Entity {
	return Entity{Holder: e.Holder, HeldUntil: e.HeldUntil}
}
