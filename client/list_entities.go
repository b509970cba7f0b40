package client

import (
	"context"
	"iter"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// ListedEntity is an entity that needs reconciling, with what is remembered of
// it.
type ListedEntity struct {
	// EntityRef names it. In a namespace with readable_keys: false the service
	// does not keep names, and Entity is a hash that names nothing.
	EntityRef
	// State says why and since when it is flagged, and what is missing.
	State *EntityState
}

// ListEntities walks the entities of a namespace that need reconciling, asking
// for page after page as the loop goes on. Entities that change meanwhile may be
// missed or come twice. An error, a gRPC status, comes last, with an empty
// entity.
//
// It is a call for operators: the server may serve it, and [Client.ReconcileEntity],
// elsewhere, or not to everybody. A context without a deadline gets one of 5 s
// for each page.
func (c *Client) ListEntities(ctx context.Context, namespace string) iter.Seq2[ListedEntity, error] {
	return func(yield func(ListedEntity, error) bool) {
		for page := ""; ; {
			resp, err := c.entitiesPage(ctx, &oncewardv1.ListEntitiesRequest{Namespace: namespace, PageToken: page})
			if err != nil {
				yield(ListedEntity{}, err)
				return
			}
			for _, e := range resp.GetEntities() {
				if !yield(listedEntity(namespace, e), nil) {
					return
				}
			}
			if page = resp.GetNextPageToken(); page == "" {
				return
			}
		}
	}
}

func (c *Client) entitiesPage(ctx context.Context, req *oncewardv1.ListEntitiesRequest) (*oncewardv1.ListEntitiesResponse, error) {
	ctx, cancel := withDeadline(ctx, callTimeout)
	defer cancel()
	return c.admin.ListEntities(ctx, req)
}

func listedEntity(namespace string, e *oncewardv1.ListedEntity) ListedEntity {
	return ListedEntity{
		EntityRef: EntityRef{Namespace: namespace, Consumer: e.GetConsumer(), Entity: e.GetEntity()},
		State:     e.GetState(),
	}
}
