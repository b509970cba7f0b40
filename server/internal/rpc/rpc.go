// Package rpc is the gRPC face of the domain: it decodes requests, lets the
// domain decide, and encodes the answers. Proto types stop here.
package rpc

import (
	"context"
	"log/slog"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/onceward"
)

// Onceward implements the OncewardService of the contract.
type Onceward struct {
	oncewardv1.UnimplementedOncewardServiceServer
	service *onceward.Service
	log     *slog.Logger
}

// NewOnceward returns the service's gRPC implementation.
func NewOnceward(s *onceward.Service, log *slog.Logger) *Onceward {
	return &Onceward{service: s, log: log}
}

func (o *Onceward) fail(ctx context.Context, err error) error { return toStatus(ctx, o.log, err) }
