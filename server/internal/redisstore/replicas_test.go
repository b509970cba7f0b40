package redisstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward/server/internal/onceward"
	"github.com/onceward/onceward/server/internal/redisstore"
	"github.com/onceward/onceward/server/internal/redistest"
)

// startReplicated starts a primary and its replica.
func startReplicated(t *testing.T) (primary, replica *redistest.Server) {
	t.Helper()
	primary = redistest.Start(t, "--repl-diskless-sync-delay", "0")
	host, port, _ := net.SplitHostPort(primary.Addr)
	replica = redistest.Start(t, "--replicaof", host, port)
	waitForReplica(t, primary)
	return primary, replica
}

func waitForReplica(t *testing.T, primary *redistest.Server) {
	t.Helper()
	redistest.Eventually(t, "the replica follows", func() error {
		primary.Do("SET", "probe", "1", "PX", 1000)
		if n := primary.Do("WAIT", 1, 100); n != int64(1) {
			return fmt.Errorf("%d replicas", n)
		}
		return nil
	})
}

func replicated(t *testing.T, url string) *onceward.Service {
	t.Helper()
	s, err := redisstore.Open(redisstore.Standalone, url, redisstore.DefaultPrefix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	policies := onceward.DefaultPolicies()
	policies.Default.MinReplicas = 1
	return onceward.NewService(s, policies)
}

// claimAll makes all claims at once.
func claimAll(t *testing.T, s *onceward.Service, calls []*onceward.CheckAndClaimRequest) []answer {
	out := make([]answer, len(calls))
	var all sync.WaitGroup
	for i, q := range calls {
		all.Go(func() {
			ask := *q
			out[i].ClaimVerdict, out[i].err = s.CheckAndClaim(t.Context(), &ask)
		})
	}
	all.Wait()
	return out
}

// TestOneWaitConfirmsAWholePipeline: the replicas are asked for once, at the end of
// a pipeline, and their answer counts for every write in it.
func TestOneWaitConfirmsAWholePipeline(t *testing.T) {
	primary, replica := startReplicated(t)
	s := replicated(t, primary.URL())
	calls := func(name string) (out []*onceward.CheckAndClaimRequest) {
		for i := range 100 {
			out = append(out, asking(fmt.Sprint(name, i)))
		}
		return out
	}
	for _, a := range claimAll(t, s, calls("confirmed")) {
		if a.err != nil || a.Outcome != onceward.Claimed {
			t.Fatalf("with the replica: %v, %v", a.Outcome, a.err)
		}
	}
	replica.Kill()
	redistest.Eventually(t, "the primary knows", func() error {
		if n := primary.Do("WAIT", 1, 1); n != int64(0) {
			return fmt.Errorf("%d replicas", n)
		}
		return nil
	})
	unconfirmed := calls("unconfirmed")[:20]
	for i, a := range claimAll(t, s, unconfirmed) {
		if e := (*onceward.Error)(nil); !errors.As(a.err, &e) || e.Reason != onceward.ReasonReplication {
			t.Errorf("claim %d without the replica: %v, %v, want %s", i, a.Outcome, a.err, onceward.ReasonReplication)
		}
	}
	replica.Run()
	waitForReplica(t, primary)
	for i, a := range claimAll(t, s, unconfirmed) {
		if a.err != nil || a.Outcome != onceward.Claimed || !a.Reentrant || a.Attempt != 1 || a.Token == 0 {
			t.Errorf("claim %d again: %+v, %v, want the same claim", i, a.ClaimVerdict, a.err)
			continue
		}
		done, err := s.Complete(t.Context(), &onceward.CompleteRequest{ClaimID: unconfirmed[i].ClaimID, Token: a.Token})
		if err != nil || done.Outcome != onceward.OK {
			t.Errorf("completion %d: %v, %v", i, done.Outcome, err)
		}
	}
}

// TestAWaitWithoutAnswerIsAskedAgain breaks the connection after the scripts' replies
// and before that of WAIT.
func TestAWaitWithoutAnswerIsAskedAgain(t *testing.T) {
	primary, _ := startReplicated(t)
	addr, lost := breakAtWait(t, primary.Addr)
	s := replicated(t, "redis://"+addr+"?max_retries=0")
	v, err := s.CheckAndClaim(t.Context(), asking("key"))
	if err != nil || v.Outcome != onceward.Claimed || v.Attempt != 1 {
		t.Errorf("%v, attempt %d, %v, want CLAIMED", v.Outcome, v.Attempt, err)
	}
	if lost.Load() == 0 {
		t.Error("no answer to WAIT was lost: the test did not test it")
	}
}

// breakAtWait is a way to a Redis on which the first connections break where the
// answer to a WAIT comes: the driver repeats a pipeline some times by itself.
func breakAtWait(t *testing.T, target string) (addr string, lost *atomic.Int64) {
	t.Helper()
	const breaks = 8
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	lost = new(atomic.Int64)
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				redis, err := net.Dial("tcp", target)
				if err != nil {
					return
				}
				defer redis.Close()
				go io.Copy(redis, client)
				buf := make([]byte, 64<<10)
				for {
					n, err := redis.Read(buf)
					if err != nil {
						return
					}
					if at := bytes.LastIndex(buf[:n], []byte("\r\n:1\r\n")); (at >= 0 || buf[0] == ':') && lost.Load() < breaks {
						lost.Add(1)
						client.Write(buf[:at+1+len("\n")*min(1, at+1)])
						return
					}
					if _, err := client.Write(buf[:n]); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String(), lost
}
