package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/onceward/onceward/client"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

var charge1 = client.EntityRef{Namespace: "n", Consumer: "c", Entity: "charge-1"}

func TestGetEntity(t *testing.T) {
	known := &oncewardv1.EntityState{Version: client.Sequence(5), State: "paid"}
	f := &fakeServer{entity: func(n int, _ *oncewardv1.GetEntityRequest) (*oncewardv1.GetEntityResponse, error) {
		switch n {
		case 1:
			return &oncewardv1.GetEntityResponse{Found: true, Entity: known}, nil
		case 2:
			return nil, status.Error(codes.DataLoss, "unreadable")
		}
		return nil, nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		got, err := c.GetEntity(t.Context(), charge1)
		if diff := cmp.Diff(known, got, protocmp.Transform()); diff != "" || err != nil {
			t.Error(err, diff)
		}
		want := &oncewardv1.GetEntityRequest{Namespace: "n", Consumer: "c", Entity: "charge-1"}
		if diff := cmp.Diff(want, f.entities[0], protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		if got, err := c.GetEntity(t.Context(), charge1); status.Code(err) != codes.DataLoss || got != nil {
			t.Errorf("got %v, %v", got, err)
		}
		if got, err := c.GetEntity(t.Context(), charge1); err != nil || got != nil || got.GetVersion() != nil {
			t.Errorf("an unknown entity: got %v, %v", got, err)
		}
	})
}

func TestListEntities_GoesFromPageToPage(t *testing.T) {
	flagged := func(name string) *oncewardv1.ListedEntity {
		return &oncewardv1.ListedEntity{Consumer: "c", Entity: name, State: &oncewardv1.EntityState{ReconcileReason: "tie"}}
	}
	pages := map[string]*oncewardv1.ListEntitiesResponse{
		"":  {Entities: []*oncewardv1.ListedEntity{flagged("1"), flagged("2")}, NextPageToken: "b"},
		"b": {NextPageToken: "c"}, // an empty page is not the last
		"c": {Entities: []*oncewardv1.ListedEntity{flagged("3")}},
	}
	f := &fakeServer{list: func(_ int, req *oncewardv1.ListEntitiesRequest) (*oncewardv1.ListEntitiesResponse, error) {
		return pages[req.GetPageToken()], nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		var got []string
		for e, err := range c.ListEntities(t.Context(), "n") {
			if err != nil || e.Namespace != "n" || e.Consumer != "c" || e.State.GetReconcileReason() != "tie" {
				t.Errorf("got %+v, %v", e, err)
			}
			got = append(got, e.Entity)
		}
		if !cmp.Equal(got, []string{"1", "2", "3"}) {
			t.Errorf("got %q", got)
		}
		for range c.ListEntities(t.Context(), "n") {
			break
		}
		if len(f.lists) != 4 {
			t.Errorf("%d pages were asked for, want 3 and 1", len(f.lists))
		}
	})
}

func TestListEntities_EndsWithAnError(t *testing.T) {
	f := &fakeServer{list: func(n int, _ *oncewardv1.ListEntitiesRequest) (*oncewardv1.ListEntitiesResponse, error) {
		if n > 1 {
			time.Sleep(time.Minute)
		}
		return &oncewardv1.ListEntitiesResponse{NextPageToken: "more"}, nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		started, n := time.Now(), 0
		for e, err := range c.ListEntities(t.Context(), "n") {
			if n++; status.Code(err) != codes.DeadlineExceeded || e.Entity != "" {
				t.Errorf("got %v, %v", e, err)
			}
		}
		if d := time.Since(started); n != 1 || d != 5*time.Second {
			t.Errorf("%d turns, %v", n, d)
		}
	})
}

func TestReconcileEntity(t *testing.T) {
	f := &fakeServer{set: func(n int, _ *oncewardv1.ReconcileEntityRequest) (*oncewardv1.ReconcileEntityResponse, error) {
		return &oncewardv1.ReconcileEntityResponse{
			Outcome: []client.ApplyOutcome{client.Applied, client.Stale, client.AlreadyApplied, 0}[n-1],
			Current: &oncewardv1.EntityState{State: "paid"},
		}, nil
	}}
	inBubble(t, f, func(t *testing.T, c *client.Client) {
		req := client.ReconcileEntityRequest{
			EntityRef: charge1, Version: client.Sequence(9), EventID: "evt_9", State: "paid", AllowBackwards: true, Actor: "ana", Reason: "looked",
		}
		for _, want := range []client.ApplyOutcome{client.Applied, client.Stale} {
			if got, err := c.ReconcileEntity(t.Context(), req); err != nil || got.Outcome != want || got.Current.GetState() != "paid" {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
		}
		for range 2 {
			if got, err := c.ReconcileEntity(t.Context(), req); !errors.Is(err, client.ErrUnknownOutcome) || got != nil {
				t.Errorf("got %v, %v", got, err)
			}
		}
		want := &oncewardv1.ReconcileEntityRequest{
			Namespace: "n", Consumer: "c", Entity: "charge-1", Version: client.Sequence(9), EventId: "evt_9", State: "paid",
			AllowBackwards: true, Actor: "ana", Reason: "looked",
		}
		if diff := cmp.Diff(want, f.sets[0], protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	})
}
