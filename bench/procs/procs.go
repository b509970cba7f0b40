// Package procs starts the processes that a benchmark measures, and reads what
// they use.
package procs

import (
	"context"
	"errors"
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

// Build builds the server from this module's source, into dir.
func Build(dir string) (binary string, err error) {
	binary = filepath.Join(dir, "onceward")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "github.com/onceward/onceward/server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
}

// Proc is a process that listens on a TCP address of loopback.
type Proc struct {
	Addr  string
	cmd   *exec.Cmd
	ended chan struct{}
}

// Start runs a program whose arguments come after its address is known. It ends
// with this process.
func Start(path string, env []string, args func(addr string) []string) (*Proc, error) {
	addr, err := FreeAddr()
	if err != nil {
		return nil, err
	}
	p := &Proc{Addr: addr, cmd: exec.Command(path, args(addr)...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// StartGRPC is Start for a gRPC server, and waits until its health says SERVING.
func StartGRPC(path string, env []string, args func(addr string) []string) (*Proc, error) {
	p, err := Start(path, env, args)
	if err != nil {
		return nil, err
	}
	conn, err := p.Dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return p.once(func() error {
		r, err := healthpb.NewHealthClient(conn).Check(context.Background(), &healthpb.HealthCheckRequest{})
		if err == nil && r.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			err = fmt.Errorf("health is %s", r.GetStatus())
		}
		return err
	})
}

// Dial gives a connection to a gRPC server.
func (p *Proc) Dial() (*grpc.ClientConn, error) {
	return grpc.NewClient(p.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// once gives the process as soon as f has no error, and stops one that ends
// before, or for half a minute is not ready.
func (p *Proc) once(f func() error) (*Proc, error) {
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if err = f(); err == nil {
			return p, nil
		}
		select {
		case <-p.ended:
			return nil, fmt.Errorf("%s ended at once", p.cmd.Path)
		case <-time.After(20 * time.Millisecond):
		}
	}
	p.Stop()
	return nil, fmt.Errorf("%s: %w", p.cmd.Path, err)
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
	_, err = p.once(func() error { return r.Client.Ping(context.Background()).Err() })
	return r, err
}

// URL is the server's address as clients want it.
func (r *Redis) URL() string { return "redis://" + r.Addr }

// Flush empties the server.
func (r *Redis) Flush() error { return r.Client.FlushAll(context.Background()).Err() }

// UsedMemory reads used_memory, without the buffers of whoever is connected, once
// it stands still: Redis frees the old table of a dictionary that has grown a
// little later.
func (r *Redis) UsedMemory(ctx context.Context) (bytes int64, err error) {
	last := int64(-1 << 40)
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); last = bytes {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Second):
		}
		info, err := r.Client.Info(ctx, "memory").Result()
		if err != nil {
			return 0, err
		}
		used, err := field(info, "used_memory")
		clients, bad := field(info, "mem_clients_normal")
		if err = errors.Join(err, bad); err != nil {
			return 0, err
		}
		if bytes = used - clients; -4096 <= bytes-last && bytes-last <= 4096 {
			return bytes, nil
		}
	}
	return 0, errors.New("used_memory does not stand still")
}

func field(info, name string) (n int64, err error) {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		}
	}
	return 0, errors.New("INFO has no " + name)
}

// Stop kills the process.
func (p *Proc) Stop() {
	p.cmd.Process.Kill()
	<-p.ended
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

// FreeAddr is a loopback address that nobody listened on a moment ago.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
