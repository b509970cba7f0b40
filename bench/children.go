package main

import (
	"context"
	"net"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// The bench starts itself again to be one of these, as BENCH_ROLE says:
//
//	bare   a gRPC server with Onceward's settings and nothing in between
//	naive  a dedup service as one would write it: stock gRPC, stock go-redis, one
//	       SET NX a call
const roleVariable = "BENCH_ROLE"

func serve(role string) error {
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		return err
	}
	var g *grpc.Server
	if role == "naive" {
		g = grpc.NewServer()
		o, err := redis.ParseURL(os.Args[2])
		if err != nil {
			return err
		}
		oncewardv1.RegisterOncewardServiceServer(g, &naive{redis: redis.NewClient(o)})
	} else {
		g = grpc.NewServer(grpc.NumStreamWorkers(64))
	}
	healthpb.RegisterHealthServer(g, health.NewServer())
	return g.Serve(l)
}

type naive struct {
	oncewardv1.UnimplementedOncewardServiceServer
	redis *redis.Client
}

func (n *naive) CheckAndClaim(ctx context.Context, in *oncewardv1.CheckAndClaimRequest) (*oncewardv1.CheckAndClaimResponse, error) {
	_, err := n.redis.SetArgs(ctx, in.GetNamespace()+":"+in.GetKey(), "1", redis.SetArgs{Mode: "NX", Get: true, TTL: time.Hour}).Result()
	switch {
	case err == redis.Nil:
		return &oncewardv1.CheckAndClaimResponse{Outcome: oncewardv1.ClaimOutcome_CLAIM_OUTCOME_CLAIMED}, nil
	case err != nil:
		return nil, err
	}
	return &oncewardv1.CheckAndClaimResponse{Outcome: oncewardv1.ClaimOutcome_CLAIM_OUTCOME_DUPLICATE}, nil
}
