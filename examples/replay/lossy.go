package main

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
)

// lossyReplies sits between the client and the connection: it lets a call reach
// the service, throws the reply away, and leaves it to the client to ask again.
type lossyReplies struct {
	mu        sync.Mutex
	next      lostReply // the reply to lose, once
	lost      []lostReply
	reentries int
	settled   int
}

// lose decides which reply will be lost. Only the worker's own calls can be:
// the sender's answer is lost elsewhere.
func (l *lossyReplies) lose(next lostReply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = next
}

func (l *lossyReplies) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if err := invoke(ctx, method, req, reply, conn, opts...); err != nil {
		return err
	}
	if l.drop(reply) {
		return status.Error(codes.Unavailable, "the reply was lost")
	}
	return nil
}

// drop reports whether the reply is to be lost, and otherwise looks at it.
func (l *lossyReplies) drop(reply any) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch reply := reply.(type) {
	case *oncewardv1.CheckAndClaimResponse:
		if l.loses(lostClaim) {
			return true
		}
		if reply.GetReentrant() {
			l.reentries++
		}
	case *oncewardv1.CompleteResponse:
		if l.loses(lostComplete) {
			return true
		}
		if reply.GetOutcome() == oncewardv1.SettleOutcome_SETTLE_OUTCOME_ALREADY_SETTLED {
			l.settled++
		}
	}
	return false
}

func (l *lossyReplies) loses(kind lostReply) bool {
	if l.next != kind {
		return false
	}
	l.next = ""
	l.lost = append(l.lost, kind)
	return true
}

// since adds to a report what has happened since the last one.
func (l *lossyReplies) since(r report) report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Lost, r.Reentries, r.Settled = l.lost, l.reentries, l.settled
	l.lost, l.reentries, l.settled = nil, 0, 0
	return r
}
