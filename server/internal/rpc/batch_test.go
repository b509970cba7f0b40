package rpc

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/memstore"
	"github.com/onceward/onceward/server/internal/onceward"
)

// serve runs the real server over an embedded store and gives a client of it.
func serve(t *testing.T) (oncewardv1.OncewardServiceClient, *onceward.Service) {
	store := memstore.New(time.Now)
	t.Cleanup(func() { store.Close() })
	service := onceward.NewService(store, onceward.DefaultPolicies())
	server, _ := NewServer(service, slog.New(slog.NewTextHandler(io.Discard, nil)), Config{Observe: func(string, codes.Code, time.Duration) {}})
	l := bufconn.Listen(1 << 20)
	go server.Serve(l)
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:///bufconn",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return oncewardv1.NewOncewardServiceClient(conn), service
}

func claimOp(key string) *oncewardv1.Operation {
	return &oncewardv1.Operation{Operation: &oncewardv1.Operation_CheckAndClaim{
		CheckAndClaim: &oncewardv1.CheckAndClaimRequest{Namespace: "n", Key: key},
	}}
}

func applyOp(entity string, sequence uint64) *oncewardv1.Operation {
	return &oncewardv1.Operation{Operation: &oncewardv1.Operation_ApplyIfNewer{ApplyIfNewer: &oncewardv1.ApplyIfNewerRequest{
		Namespace: "n", Entity: entity, Version: &oncewardv1.Version{Value: &oncewardv1.Version_Sequence{Sequence: sequence}},
	}}}
}

// word is a result in one word.
func word(r *oncewardv1.OperationResult) string {
	switch r := r.GetResult().(type) {
	case *oncewardv1.OperationResult_CheckAndClaim:
		return r.CheckAndClaim.GetOutcome().String()
	case *oncewardv1.OperationResult_ApplyIfNewer:
		return r.ApplyIfNewer.GetOutcome().String()
	case *oncewardv1.OperationResult_Error:
		return fmt.Sprint(codes.Code(r.Error.GetCode()), " ", r.Error.GetReason())
	}
	return fmt.Sprintf("%T", r.GetResult())
}

func TestBatchAnswersInOrderAndFailsItemByItem(t *testing.T) {
	c, _ := serve(t)
	got, err := c.Batch(t.Context(), &oncewardv1.BatchRequest{Operations: []*oncewardv1.Operation{
		claimOp("a"), claimOp(""), applyOp("e", 4), claimOp("a"), applyOp("e", 3), {}, claimOp("b"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"CLAIM_OUTCOME_CLAIMED", "InvalidArgument FIELD_INVALID", "APPLY_OUTCOME_APPLIED", "CLAIM_OUTCOME_IN_PROGRESS",
		"APPLY_OUTCOME_STALE", "InvalidArgument FIELD_INVALID", "CLAIM_OUTCOME_CLAIMED",
	}
	for i, r := range got.GetResults() {
		if word(r) != want[i] {
			t.Errorf("result %d is %s, want %s", i, word(r), want[i])
		}
	}
}

func TestBatchDecidesOneKeyInRequestOrder(t *testing.T) {
	c, _ := serve(t)
	var ops []*oncewardv1.Operation
	for n := range uint64(500) {
		ops = append(ops, applyOp("rising", n), applyOp("falling", 1000-n))
	}
	got, err := c.Batch(t.Context(), &oncewardv1.BatchRequest{Operations: ops})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range got.GetResults() {
		want := "APPLY_OUTCOME_APPLIED"
		if i%2 == 1 && i > 1 {
			want = "APPLY_OUTCOME_STALE"
		}
		if word(r) != want {
			t.Fatalf("result %d is %s, want %s", i, word(r), want)
		}
	}
}

func TestBatchLeavesOutResultsThatDoNotFit(t *testing.T) {
	c, _ := serve(t)
	var ops []*oncewardv1.Operation
	for i := range 99 {
		op := claimOp(fmt.Sprint("done", i))
		v, err := c.CheckAndClaim(t.Context(), op.GetCheckAndClaim())
		if err == nil {
			_, err = c.Complete(t.Context(), &oncewardv1.CompleteRequest{Namespace: "n", Key: op.GetCheckAndClaim().GetKey(), FencingToken: v.GetFencingToken(), Result: make([]byte, 64<<10)})
		}
		if err != nil {
			t.Fatal(err)
		}
		ops = append(ops, op)
	}
	got, err := c.Batch(t.Context(), &oncewardv1.BatchRequest{Operations: append(ops, claimOp("new"))})
	if err != nil {
		t.Fatal(err)
	}
	tally := map[string]int{}
	for _, r := range got.GetResults() {
		tally[word(r)]++
	}
	if tally["CLAIM_OUTCOME_CLAIMED"] != 1 || tally["CLAIM_OUTCOME_DUPLICATE"] != 48 || tally["ResourceExhausted ANSWER_FULL"] != 51 {
		t.Errorf("results are %v", tally)
	}
}

func TestBatchHasABound(t *testing.T) {
	c, _ := serve(t)
	_, err := c.Batch(t.Context(), &oncewardv1.BatchRequest{Operations: make([]*oncewardv1.Operation, 1001)})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("error is %v", err)
	}
}

func TestStreamAnswersEachByItsID(t *testing.T) {
	c, _ := serve(t)
	s, err := c.Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const n = 2000
	go func() {
		for i := range uint64(n) {
			op := claimOp(fmt.Sprint(i))
			if i%100 == 0 {
				op = claimOp("")
			}
			if s.Send(&oncewardv1.StreamRequest{Id: i, Operation: op}) != nil {
				return
			}
		}
		s.CloseSend()
	}()
	seen := map[uint64]bool{}
	for {
		r, err := s.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		want := "CLAIM_OUTCOME_CLAIMED"
		if r.GetId()%100 == 0 {
			want = "InvalidArgument FIELD_INVALID"
		}
		if seen[r.GetId()] || word(r.GetResult()) != want {
			t.Fatalf("operation %d: %s, seen before: %v", r.GetId(), word(r.GetResult()), seen[r.GetId()])
		}
		seen[r.GetId()] = true
	}
	if len(seen) != n {
		t.Errorf("%d of %d operations were answered", len(seen), n)
	}
}

func TestStreamEndsWithTheDrain(t *testing.T) {
	c, service := serve(t)
	if _, err := c.CheckAndClaim(t.Context(), claimOp("k").GetCheckAndClaim()); err != nil {
		t.Fatal(err)
	}
	s, err := c.Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	waiting := claimOp("k")
	waiting.GetCheckAndClaim().Wait = durationpb.New(30 * time.Second)
	if err := s.Send(&oncewardv1.StreamRequest{Id: 1, Operation: waiting}); err != nil {
		t.Fatal(err)
	}
	if err := s.Send(&oncewardv1.StreamRequest{Id: 2, Operation: claimOp("other")}); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Recv(); err != nil || r.GetId() != 2 {
		t.Fatalf("%v, %v", r, err)
	}
	service.Drain()
	if r, err := s.Recv(); err != nil || r.GetId() != 1 || word(r.GetResult()) != "CLAIM_OUTCOME_IN_PROGRESS" {
		t.Fatalf("what was in flight: %v, %v", r, err)
	}
	if _, err := s.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the stream ends with %v", err)
	}
}
