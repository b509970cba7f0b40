package client

import (
	"context"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// EntityRef names one entity. All of it is compared byte by byte.
type EntityRef struct {
	// Namespace is the provider and environment: see [Ref].
	Namespace string
	// Consumer is the handler of the events: each has a watermark of its own.
	// May be empty.
	Consumer string
	// Entity is the thing whose state events change, such as one charge or one
	// order: the scope in which the source counts. 1 to 1024 bytes of UTF-8.
	Entity string
}

// EntityState is what the service remembers of an entity: the watermark (the
// newest version applied, with its event and state), the sequences known to be
// missing, and whether and why the entity must be reconciled. Its getters may be
// called on nil and then return zero values.
type EntityState = oncewardv1.EntityState

// GetEntity reads what is remembered of an entity: nil, without an error, where
// that is nothing. What is read may be outdated on arrival; never decide about
// an effect by it, ask [Client.Apply] or [Client.Once]. The error is a gRPC
// status.
func (c *Client) GetEntity(ctx context.Context, ref EntityRef) (*EntityState, error) {
	ctx, cancel := withDeadline(ctx, callTimeout)
	defer cancel()
	resp, err := c.rpc.GetEntity(ctx, &oncewardv1.GetEntityRequest{
		Namespace: ref.Namespace,
		Consumer:  ref.Consumer,
		Entity:    ref.Entity,
	})
	if err != nil || !resp.GetFound() {
		return nil, err
	}
	return resp.GetEntity(), nil
}
