package onceward

// GetEntityRequest names the entity to read.
type GetEntityRequest struct {
	EntityID

	Policy *Policy
}

func (q *GetEntityRequest) resolve(p *Policy) error {
	var c checks
	q.EntityID.check(&c)
	q.Policy = p
	return c.err()
}
