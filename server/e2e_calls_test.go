package main

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	oncewardv1 "github.com/onceward/onceward/gen/go/onceward/v1"
	"github.com/onceward/onceward/server/internal/redistest"
)

// The verdicts and states, under the names that the contract's tables use.
const (
	claimed    = oncewardv1.ClaimOutcome_CLAIM_OUTCOME_CLAIMED
	inProgress = oncewardv1.ClaimOutcome_CLAIM_OUTCOME_IN_PROGRESS
	duplicate  = oncewardv1.ClaimOutcome_CLAIM_OUTCOME_DUPLICATE
	isParked   = oncewardv1.ClaimOutcome_CLAIM_OUTCOME_PARKED

	settled        = oncewardv1.SettleOutcome_SETTLE_OUTCOME_OK
	alreadySettled = oncewardv1.SettleOutcome_SETTLE_OUTCOME_ALREADY_SETTLED
	lost           = oncewardv1.SettleOutcome_SETTLE_OUTCOME_LOST

	stateInProgress = oncewardv1.ClaimState_CLAIM_STATE_IN_PROGRESS
	stateExpired    = oncewardv1.ClaimState_CLAIM_STATE_EXPIRED
	stateReleased   = oncewardv1.ClaimState_CLAIM_STATE_RELEASED
	stateCompleted  = oncewardv1.ClaimState_CLAIM_STATE_COMPLETED
	stateParked     = oncewardv1.ClaimState_CLAIM_STATE_PARKED
)

// namespace of all claims here that need no policy of their own.
const namespace = "e2e"

// attempt is a request for a claim with an identity of its own, changed by each
// option.
func attempt(key string, options ...func(*oncewardv1.CheckAndClaimRequest)) *oncewardv1.CheckAndClaimRequest {
	q := &oncewardv1.CheckAndClaimRequest{Namespace: namespace, Key: key, RequestId: rand.Text()}
	for _, o := range options {
		o(q)
	}
	return q
}

func lease(d time.Duration) func(*oncewardv1.CheckAndClaimRequest) {
	return func(q *oncewardv1.CheckAndClaimRequest) { q.Lease = durationpb.New(d) }
}

func retention(d time.Duration) func(*oncewardv1.CheckAndClaimRequest) {
	return func(q *oncewardv1.CheckAndClaimRequest) { q.Retention = durationpb.New(d) }
}

func in(namespace string) func(*oncewardv1.CheckAndClaimRequest) {
	return func(q *oncewardv1.CheckAndClaimRequest) { q.Namespace = namespace }
}

func completion(key string, token int64) *oncewardv1.CompleteRequest {
	return &oncewardv1.CompleteRequest{Namespace: namespace, Key: key, FencingToken: token, Result: []byte("result of " + key), ResultType: "text/plain"}
}

func release(key string, token int64) *oncewardv1.ReleaseRequest {
	return &oncewardv1.ReleaseRequest{Namespace: namespace, Key: key, FencingToken: token, Reason: "try later"}
}

func park(key string, token int64) *oncewardv1.ReleaseRequest {
	q := release(key, token)
	q.Park = true
	return q
}

func extension(key string, token int64) *oncewardv1.ExtendLeaseRequest {
	return &oncewardv1.ExtendLeaseRequest{Namespace: namespace, Key: key, FencingToken: token}
}

func reading(key string) *oncewardv1.GetClaimRequest {
	return &oncewardv1.GetClaimRequest{Namespace: namespace, Key: key}
}

// claim asks for a claim and must get an answer.
func (p *process) claim(q *oncewardv1.CheckAndClaimRequest) *oncewardv1.CheckAndClaimResponse {
	p.t.Helper()
	return persist(p.t, q, p.CheckAndClaim)
}

// hold asks for a claim and must get it.
func (p *process) hold(q *oncewardv1.CheckAndClaimRequest) *oncewardv1.CheckAndClaimResponse {
	p.t.Helper()
	v := p.claim(q)
	if v.GetOutcome() != claimed || v.GetFencingToken() <= 0 {
		p.t.Errorf("CheckAndClaim: %v, want CLAIMED with a token", v)
	}
	return v
}

// complete ends a claim and must be let. A repeat of a call whose answer was
// lost is told that it is settled already.
func (p *process) complete(q *oncewardv1.CompleteRequest) *oncewardv1.CompleteResponse {
	p.t.Helper()
	v := persist(p.t, q, p.Complete)
	if !accepted(v) {
		p.t.Errorf("Complete: %v, want OK", v)
	}
	return v
}

func accepted(v *oncewardv1.CompleteResponse) bool {
	return v.GetState() == stateCompleted && (v.GetOutcome() == settled || v.GetOutcome() == alreadySettled)
}

// read reads a claim.
func (p *process) read(key string) *oncewardv1.Claim {
	p.t.Helper()
	return persist(p.t, reading(key), p.GetClaim).GetClaim()
}

// persist calls as a client does that wants an answer, and must get one.
func persist[Q, V any](t *testing.T, q Q, do method[Q, V]) (v V) {
	t.Helper()
	err := repeat(func() (err error) {
		v, err = once(q, do)
		return err
	})
	if err != nil {
		t.Errorf("%T: %v", q, err)
	}
	return v
}

// repeat repeats what the server could not carry out in time, with the same
// request_id or token. On a machine that is busy this happens without any fault
// of the server.
func repeat(do func() error) (err error) {
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = do(); !worthRepeating(err) {
			return err
		}
	}
	return err
}

func worthRepeating(err error) bool {
	c := status.Code(err)
	return c == codes.Unavailable || c == codes.DeadlineExceeded
}

// method is a method of the generated client.
type method[Q, V any] func(context.Context, Q, ...grpc.CallOption) (V, error)

// once calls with a deadline that is no part of what is tested.
func once[Q, V any](q Q, do method[Q, V]) (V, error) { return within(60*time.Second, q, do) }

// within calls with a deadline.
func within[Q, V any](d time.Duration, q Q, do method[Q, V]) (V, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return do(ctx, q)
}

// simultaneously runs f for 0 to n-1, all let go at the same instant, and gives
// what they gave.
func simultaneously[V any](n int, f func(i int) V) []V {
	out := make([]V, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			out[i] = f(i)
		})
	}
	close(start)
	all.Wait()
	return out
}

// spread runs f for 0 to n-1 with some at a time.
func spread(n, atATime int, f func(i int)) {
	next := make(chan int)
	var all sync.WaitGroup
	for range atATime {
		all.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// reason is the reason in an error's ErrorInfo.
func reason(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == "onceward.v1" {
			return info.GetReason()
		}
	}
	return ""
}

// wantError fails unless err has the code and the reason.
func wantError(t *testing.T, call string, err error, code codes.Code, why string) {
	t.Helper()
	if status.Code(err) != code || reason(err) != why {
		t.Errorf("%s: %v with reason %q, want %s with %s", call, err, reason(err), code, why)
	}
}

// call is one verb on a claim, for tests that hold for every verb.
type call struct {
	name string
	do   func() error // once
}

// answer is the call's error, once there is an answer.
func (c call) answer() error { return repeat(c.do) }

// call is one call with one request.
func (p *process) call(name string, request any) call {
	return call{name, func() (err error) {
		switch q := request.(type) {
		case *oncewardv1.CheckAndClaimRequest:
			_, err = once(q, p.CheckAndClaim)
		case *oncewardv1.CompleteRequest:
			_, err = once(q, p.Complete)
		case *oncewardv1.ReleaseRequest:
			_, err = once(q, p.Release)
		case *oncewardv1.ExtendLeaseRequest:
			_, err = once(q, p.ExtendLease)
		case *oncewardv1.GetClaimRequest:
			_, err = once(q, p.GetClaim)
		case *oncewardv1.ApplyIfNewerRequest:
			_, err = once(q, p.ApplyIfNewer)
		case *oncewardv1.GetEntityRequest:
			_, err = once(q, p.GetEntity)
		case *oncewardv1.ForgetClaimRequest:
			_, err = once(q, p.admin.ForgetClaim)
		case *oncewardv1.ForgetEntityRequest:
			_, err = once(q, p.admin.ForgetEntity)
		case *oncewardv1.ReconcileEntityRequest:
			_, err = once(q, p.admin.ReconcileEntity)
		default:
			p.t.Errorf("no verb takes a %T", q)
		}
		return err
	}}
}

// everyVerb calls each verb on a claim once.
func (p *process) everyVerb(key string, token int64) []call {
	return []call{
		p.call("CheckAndClaim", attempt(key)),
		p.call("Complete", completion(key, token)),
		p.call("Release", release(key, token)),
		p.call("ExtendLease", extension(key, token)),
		p.call("GetClaim", reading(key)),
	}
}

// waitLeaseOver waits until the lease that a request got has run out by Redis's
// clock.
func (p *process) waitLeaseOver(t *testing.T, q *oncewardv1.CheckAndClaimRequest) {
	t.Helper()
	redistest.Eventually(t, "the lease is over", func() error {
		v := persist(t, &oncewardv1.GetClaimRequest{Namespace: q.GetNamespace(), Key: q.GetKey()}, p.GetClaim)
		if state := v.GetClaim().GetState(); state != stateExpired {
			return errors.New(state.String())
		}
		return nil
	})
}
