package main

import (
	"context"
	"fmt"

	"github.com/onceward/onceward/bench/load"
	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// window is how many operations of a stream are in flight.
const window = 256

// stream claims fresh keys over a stream for each caller, one a message. A call
// is one answer read, after which the next request is sent: its latency says
// nothing.
func stream(ctx context.Context, t *target) (load.Call, error) {
	var streams [streamCallers]oncewardv1.OncewardService_StreamClient
	for caller := range streams {
		s, err := t.client(caller).Stream(ctx)
		if err != nil {
			return nil, err
		}
		for range window - 1 {
			if err := send(s); err != nil {
				return nil, err
			}
		}
		streams[caller] = s
	}
	return func(_ context.Context, caller int) (int, error) {
		if err := send(streams[caller]); err != nil {
			return 0, err
		}
		r, err := streams[caller].Recv()
		if err != nil {
			return 0, fmt.Errorf("stream: %w", err)
		}
		return 1, expect(r.GetResult().GetCheckAndClaim().GetOutcome(), claimed, nil)
	}, nil
}

const streamCallers = 2

func send(s oncewardv1.OncewardService_StreamClient) error {
	return s.Send(&oncewardv1.StreamRequest{Id: counter.Add(1), Operation: claimOp(request(newKey()))})
}
