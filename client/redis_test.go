package client_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startRedis starts a redis-server on a socket of its own and returns its URL.
// Without redis-server on the PATH the test fails: one that did not run must not
// count as passed.
func startRedis(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server is not on the PATH: run make test, which installs it, or install Debian's package redis-server")
	}
	dir, err := os.MkdirTemp(scratch, "")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "redis")
	cmd := exec.Command(path, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("redis-server said:\n%s", log.String())
		}
	})
	eventually(t, "redis-server answers", func() bool { return ping(socket) == nil })
	return "unix://" + socket
}

func ping(socket string) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return err
	}
	answer := make([]byte, len("+PONG\r\n"))
	if _, err := io.ReadFull(conn, answer); err != nil {
		return err
	}
	if !strings.HasPrefix(string(answer), "+PONG") {
		return errors.New(string(answer))
	}
	return nil
}
