package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/types/known/durationpb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// kind is one thing that the store keeps.
type kind struct {
	name  string
	limit float64 // the most that it may cost, in plain SETs; 0: any
	write func(ctx context.Context, c oncewardv1.OncewardServiceClient, i int) error
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

func (k claimed) write(ctx context.Context, c oncewardv1.OncewardServiceClient, i int) error {
	key := hexKey(i)
	var token int64
	err := persist(func() error {
		v, err := c.CheckAndClaim(ctx, k.request(key, i))
		if err == nil && v.GetOutcome() != oncewardv1.ClaimOutcome_CLAIM_OUTCOME_CLAIMED {
			return fmt.Errorf("the answer to CheckAndClaim is %s, want CLAIMED", v.GetOutcome())
		}
		token = v.GetFencingToken()
		return err
	})
	if err != nil || k.final {
		return err
	}
	return persist(func() error {
		v, err := c.Complete(ctx, &oncewardv1.CompleteRequest{Namespace: "memory", Key: key, FencingToken: token})
		if err == nil && v.GetOutcome() == oncewardv1.SettleOutcome_SETTLE_OUTCOME_LOST {
			return fmt.Errorf("the answer to Complete is %s, want OK", v.GetOutcome())
		}
		return err
	})
}

func (k claimed) request(key string, i int) *oncewardv1.CheckAndClaimRequest {
	sum := sha256.Sum256([]byte(key))
	return &oncewardv1.CheckAndClaimRequest{
		Namespace:   "memory",
		Key:         key,
		RequestId:   strconv.Itoa(i),
		Retention:   durationpb.New(retention),
		Fingerprint: sum[:k.fingerprint],
		Owner:       k.owner,
		Final:       k.final,
	}
}

// applied gives an entity its first version, from an event with an id like
// Stripe's.
func applied(ctx context.Context, c oncewardv1.OncewardServiceClient, i int) error {
	return persist(func() error {
		v, err := c.ApplyIfNewer(ctx, &oncewardv1.ApplyIfNewerRequest{
			Namespace: "memory",
			Entity:    hexKey(i),
			Version:   &oncewardv1.Version{Value: &oncewardv1.Version_Sequence{Sequence: uint64(i)}},
			EventId:   "evt_" + hexKey(i)[:24],
			RequestId: strconv.Itoa(i),
			Retention: durationpb.New(retention),
		})
		if err == nil && v.GetOutcome() != oncewardv1.ApplyOutcome_APPLY_OUTCOME_APPLIED {
			return fmt.Errorf("the answer to ApplyIfNewer is %s, want APPLIED", v.GetOutcome())
		}
		return err
	})
}

// hexKey is the i-th key: 64 hex digits, as of a payload's SHA-256.
func hexKey(i int) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(i)))
	return hex.EncodeToString(sum[:])
}
