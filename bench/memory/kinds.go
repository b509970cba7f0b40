package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// kind is one thing that the store keeps, written by batches: what it costs does
// not depend on how it came, and millions of single calls would take their time.
type kind struct {
	name  string
	limit float64 // the most that it may cost, in plain SETs; 0: any
	write func(ctx context.Context, c oncewardv1.OncewardServiceClient, from, to int) error
}

var kinds = []kind{
	{"claim, completed", 1.05, claimed{}.write},
	{"claim with 32-byte fingerprint, completed", 0, claimed{fingerprint: 32}.write},
	{"claim with 12-byte owner, completed", 0, claimed{owner: "worker-12345"}.write},
	{"final claim", 0, claimed{final: true}.write},
	{"entity at a sequence, 28-byte event id", 1.25, applied},
}

// claimed is one way to claim.
type claimed struct {
	fingerprint int // bytes
	owner       string
	final       bool
}

func (k claimed) write(ctx context.Context, c oncewardv1.OncewardServiceClient, from, to int) error {
	var claims, completions []*oncewardv1.Operation
	for i := from; i < to; i++ {
		claims = append(claims, &oncewardv1.Operation{Operation: &oncewardv1.Operation_CheckAndClaim{CheckAndClaim: k.request(i)}})
	}
	results, err := send(ctx, c, claims)
	if err != nil || k.final {
		return err
	}
	for i, r := range results {
		completions = append(completions, &oncewardv1.Operation{Operation: &oncewardv1.Operation_Complete{Complete: &oncewardv1.CompleteRequest{
			Namespace: "memory", Key: hexKey(from + i), FencingToken: r.GetCheckAndClaim().GetFencingToken(),
		}}})
	}
	_, err = send(ctx, c, completions)
	return err
}

func (k claimed) request(i int) *oncewardv1.CheckAndClaimRequest {
	sum := sha256.Sum256([]byte(hexKey(i)))
	return &oncewardv1.CheckAndClaimRequest{
		Namespace:   "memory",
		Key:         hexKey(i),
		RequestId:   strconv.Itoa(i),
		Retention:   durationpb.New(retention),
		Fingerprint: sum[:k.fingerprint],
		Owner:       k.owner,
		Final:       k.final,
	}
}

// applied gives entities their first version, from events with ids like Stripe's.
func applied(ctx context.Context, c oncewardv1.OncewardServiceClient, from, to int) error {
	var ops []*oncewardv1.Operation
	for i := from; i < to; i++ {
		ops = append(ops, &oncewardv1.Operation{Operation: &oncewardv1.Operation_ApplyIfNewer{ApplyIfNewer: &oncewardv1.ApplyIfNewerRequest{
			Namespace: "memory",
			Entity:    hexKey(i),
			Version:   &oncewardv1.Version{Value: &oncewardv1.Version_Sequence{Sequence: uint64(i)}},
			EventId:   "evt_" + hexKey(i)[:24],
			RequestId: strconv.Itoa(i),
			Retention: durationpb.New(retention),
		}}})
	}
	_, err := send(ctx, c, ops)
	return err
}

// send sends a batch until every operation of it has done what it must. All of
// them may be repeated.
func send(ctx context.Context, c oncewardv1.OncewardServiceClient, ops []*oncewardv1.Operation) (results []*oncewardv1.OperationResult, err error) {
	err = persist(func() error {
		resp, err := c.Batch(ctx, &oncewardv1.BatchRequest{Operations: ops})
		results = resp.GetResults()
		for _, r := range results {
			if err == nil {
				err = done(r)
			}
		}
		return err
	})
	return results, err
}

func done(r *oncewardv1.OperationResult) error {
	claim, settle, apply := r.GetCheckAndClaim(), r.GetComplete(), r.GetApplyIfNewer()
	switch {
	case r.GetError() != nil:
		return status.Error(codes.Code(r.GetError().GetCode()), r.GetError().GetMessage())
	case claim != nil && claim.GetOutcome() != oncewardv1.ClaimOutcome_CLAIM_OUTCOME_CLAIMED:
		return fmt.Errorf("the answer to CheckAndClaim is %s, want CLAIMED", claim.GetOutcome())
	case settle != nil && settle.GetOutcome() == oncewardv1.SettleOutcome_SETTLE_OUTCOME_LOST:
		return fmt.Errorf("the answer to Complete is %s, want OK", settle.GetOutcome())
	case apply != nil && apply.GetOutcome() != oncewardv1.ApplyOutcome_APPLY_OUTCOME_APPLIED:
		return fmt.Errorf("the answer to ApplyIfNewer is %s, want APPLIED", apply.GetOutcome())
	}
	return nil
}

// hexKey is the i-th key: 64 hex digits, as of a payload's SHA-256.
func hexKey(i int) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(i)))
	return hex.EncodeToString(sum[:])
}
