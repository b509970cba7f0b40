package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
)

// reflectionServices are the two versions, whose messages are the same on the wire.
var reflectionServices = []string{"grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"}

func TestReflectionListsBothServices(t *testing.T) {
	p := startServer(t)
	for _, service := range reflectionServices {
		names, err := listServices(p.conn, service)
		if err != nil {
			t.Fatalf("%s: %v", service, err)
		}
		for _, want := range []string{"onceward.v1.OncewardService", "onceward.v1.AdminService", "grpc.health.v1.Health"} {
			if !slices.Contains(names, want) {
				t.Errorf("%s lists %q, want %s among them", service, names, want)
			}
		}
	}
}

func TestReflectionCanBeSwitchedOff(t *testing.T) {
	p := startServer(t, "ONCEWARD_REFLECTION=false")
	for _, service := range reflectionServices {
		if names, err := listServices(p.conn, service); status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %q, %v, want UNIMPLEMENTED", service, names, err)
		}
	}
}

func listServices(conn *grpc.ClientConn, service string) (names []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/"+service+"/ServerReflectionInfo")
	if err != nil {
		return nil, err
	}
	// RecvMsg has the status, also where SendMsg comes too late.
	_ = stream.SendMsg(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
	var resp reflectionpb.ServerReflectionResponse
	err = stream.RecvMsg(&resp)
	for _, s := range resp.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	return names, err
}
