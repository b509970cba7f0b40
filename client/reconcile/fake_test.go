package reconcile_test

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/onceward/onceward/client"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// fakeServer lists entities two by two, and answers APPLIED unless told
// otherwise. Asked for, every reconciliation is in sets.
type fakeServer struct {
	oncewardv1.UnimplementedAdminServiceServer

	entities []*oncewardv1.ListedEntity
	list     func(page int) error // may fail a page, counted from 0
	set      func(req *oncewardv1.ReconcileEntityRequest) (*oncewardv1.ReconcileEntityResponse, error)

	mu    sync.Mutex
	lists []*oncewardv1.ListEntitiesRequest
	sets  []*oncewardv1.ReconcileEntityRequest
}

func flagged(names ...string) (out []*oncewardv1.ListedEntity) {
	for _, name := range names {
		out = append(out, &oncewardv1.ListedEntity{
			Consumer: "mirror", Entity: name,
			State: &oncewardv1.EntityState{Version: client.Sequence(3), NeedsReconcile: true, ReconcileReason: "gap"},
		})
	}
	return out
}

func (f *fakeServer) ListEntities(_ context.Context, req *oncewardv1.ListEntitiesRequest) (*oncewardv1.ListEntitiesResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists = append(f.lists, req)
	page, _ := strconv.Atoi(req.GetPageToken())
	if f.list != nil {
		if err := f.list(page); err != nil {
			return nil, err
		}
	}
	pages := slices.Collect(slices.Chunk(f.entities, 2))
	pages = slices.Insert(pages, min(1, len(pages)), nil) // an empty page is not the last
	resp := &oncewardv1.ListEntitiesResponse{Entities: pages[page]}
	if page+1 < len(pages) {
		resp.NextPageToken = strconv.Itoa(page + 1)
	}
	return resp, nil
}

func (f *fakeServer) ReconcileEntity(_ context.Context, req *oncewardv1.ReconcileEntityRequest) (*oncewardv1.ReconcileEntityResponse, error) {
	f.mu.Lock()
	f.sets = append(f.sets, req)
	f.mu.Unlock()
	if f.set != nil {
		if resp, err := f.set(req); resp != nil || err != nil {
			return resp, err
		}
	}
	return &oncewardv1.ReconcileEntityResponse{Outcome: client.Applied}, nil
}

// inBubble runs a test against f, in memory and in virtual time.
func inBubble(t *testing.T, f *fakeServer, test func(t *testing.T, c *client.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, f.start(t)) })
}

func (f *fakeServer) start(t *testing.T) *client.Client {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.WaitForHandlers(true))
	oncewardv1.RegisterAdminServiceServer(server, f)
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(listener) })
	c, err := client.Dial("passthrough:///fake",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		server.Stop()
		serving.Wait()
	})
	return c
}
