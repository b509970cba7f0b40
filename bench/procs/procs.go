// Package procs starts the processes that a benchmark measures, and reads what
// they use.
package procs

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// Proc is a process that listens on a TCP address of loopback.
type Proc struct {
	Addr string
	cmd  *exec.Cmd
}

// Start runs a program whose arguments come after its address is known. It ends
// with this process.
func Start(path string, env []string, args func(addr string) []string) (*Proc, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args(addr)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return &Proc{Addr: addr, cmd: cmd}, cmd.Start()
}

// StartGRPC is Start for a gRPC server, and waits until its health says SERVING.
func StartGRPC(path string, env []string, args func(addr string) []string) (*Proc, error) {
	p, err := Start(path, env, args)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(p.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return p, eventually(func() error {
		r, err := healthpb.NewHealthClient(conn).Check(context.Background(), &healthpb.HealthCheckRequest{})
		if err == nil && r.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			err = fmt.Errorf("%s is %s", path, r.GetStatus())
		}
		return err
	})
}

// Redis is a redis-server of our own, without persistence: it may be flushed.
type Redis struct {
	*Proc
	Client *redis.Client
}

// StartRedis starts a redis-server with its files in dir.
func StartRedis(dir string) (*Redis, error) {
	p, err := Start("redis-server", nil, func(addr string) []string {
		_, port, _ := net.SplitHostPort(addr)
		return []string{"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--logfile", filepath.Join(dir, "redis-"+port+".log")}
	})
	if err != nil {
		return nil, fmt.Errorf("redis-server: %w", err)
	}
	r := &Redis{Proc: p, Client: redis.NewClient(&redis.Options{Addr: p.Addr})}
	return r, eventually(func() error { return r.Client.Ping(context.Background()).Err() })
}

// URL is the server's address as clients want it.
func (r *Redis) URL() string { return "redis://" + r.Addr }

// Flush empties the server.
func (r *Redis) Flush() error { return r.Client.FlushAll(context.Background()).Err() }

// UsedMemory is what the data and its tables take, in bytes.
func (r *Redis) UsedMemory() (bytes int64, err error) {
	info, err := r.Client.Info(context.Background(), "memory").Result()
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, "used_memory:"); ok {
			return strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		}
	}
	return 0, err
}

// Stop kills the process.
func (p *Proc) Stop() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// CPU is the processor time that the process has used.
func (p *Proc) CPU() time.Duration { return CPU(p.cmd.Process.Pid) }

// RSS is the memory that the process holds, in bytes.
func (p *Proc) RSS() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no VmRSS of process %d", p.cmd.Process.Pid)
}

// tick is the unit of /proc/PID/stat, the same on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// CPU is the processor time that a process has used; 0 when it is gone.
func CPU(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// eventually repeats f until it has no error, for half a minute.
func eventually(f func() error) (err error) {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = f(); err == nil {
			return nil
		}
	}
	return err
}
