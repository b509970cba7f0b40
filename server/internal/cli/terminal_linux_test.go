package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"unsafe"
)

// openTerminal gives both ends of a pseudo-terminal.
func openTerminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { screen.Close() })
	var unlock, number int32
	ioctl(t, screen, syscall.TIOCSPTLCK, &unlock)
	ioctl(t, screen, syscall.TIOCGPTN, &number)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { tty.Close() })
	return screen, tty
}

func ioctl(t *testing.T, f *os.File, request uintptr, value *int32) {
	t.Helper()
	conn, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	conn.Control(func(fd uintptr) {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(value))); e != 0 {
			t.Fatal(e)
		}
	})
}

func TestATerminalGetsATable(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.park("a", "", "evt_1", "")
	for _, c := range []struct{ flag, want string }{
		{"-timeout=1m", "KEY "},
		{"-json", `"key":"evt_1"`},
	} {
		screen, tty := openTerminal(t)
		cmd := exec.CommandContext(t.Context(), binary, "claims", "-namespace", "a", "-addr", s.addr, c.flag)
		cmd.Env, cmd.Stdout = environment(), tty
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		shown := make([]byte, 4096) // what a command wrote before it ended is there to read
		n, err := screen.Read(shown)
		if err != nil || !bytes.Contains(shown[:n], []byte(c.want)) {
			t.Errorf("%s: %q, %v", c.flag, shown[:n], err)
		}
	}
}

func TestAFullDiskIsAFailure(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no full disk here: ", err)
	}
	defer full.Close()
	s := start(t)
	s.park("a", "", "evt_1", "")
	for _, args := range [][]string{
		{"claims", "-namespace", "a"},
		{"claims", "-namespace", "a", "-table"},
		{"entities", "-namespace", "a", "-table"},
		{"overview", "-table"},
		{"forget", "claim", "-namespace", "a", "-key", "evt_1", "-reason", "r", "-table"},
	} {
		var stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Env, cmd.Stdout, cmd.Stderr = append(environment(), "ONCEWARD_ADDR="+s.addr), full, &stderr
		cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != 1 {
			t.Errorf("%q: exit code %d", args, code)
		}
		checkLine(t, stderr.String(), "no space left")
	}
}
