//go:build unix

package client_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward/client"
)

// A process that is stopped for longer than its lease cannot know. When it goes
// on, the first thing it looks at must tell it, and so must its completion.
func TestServer_StoppedProcess(t *testing.T) {
	s := startServer(t)
	child := startPausedChild(t, s.target)
	child.expect(t, "working")
	child.signal(t, syscall.SIGSTOP)
	stopped := time.Now()
	eventually(t, "the stopped process has lost its lease", func() bool {
		return s.claim(t, pausedRequest()).State == client.StateExpired
	})

	_, err := s.client.Once(t.Context(), pausedRequest(), func(_ context.Context, claim *client.Claim) (client.Result, error) {
		if claim.Attempt != 2 || claim.Takeover == nil || claim.Takeover.PreviousOwner != "paused" {
			t.Errorf("attempt %d, takeover %+v", claim.Attempt, claim.Takeover)
		}
		return client.Result{Data: []byte("of the next one")}, nil
	})
	if err != nil {
		t.Fatal(err)
	}

	time.Sleep(time.Until(stopped.Add(pausedRequest().Lease * 3 / 2)))
	child.signal(t, syscall.SIGCONT)
	child.expect(t, "context: context canceled cause lost: true")
	child.expect(t, "once: lease lost")
	if record := s.claim(t, pausedRequest()); string(record.Result.Data) != "of the next one" {
		t.Errorf("the stored result is %q", record.Result.Data)
	}
}

type childProcess struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

func startPausedChild(t *testing.T, target string) *childProcess {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), pausedChild+"="+target)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return &childProcess{cmd: cmd, out: bufio.NewReader(out)}
}

func (c *childProcess) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// expect reads the child's next line.
func (c *childProcess) expect(t *testing.T, want string) {
	t.Helper()
	kill := time.AfterFunc(generous, func() { c.cmd.Process.Kill() })
	defer kill.Stop()
	line, err := c.out.ReadString('\n')
	if got := strings.TrimSuffix(line, "\n"); got != want {
		t.Fatalf("the child said %q (%v), want %q", got, err, want)
	}
}
