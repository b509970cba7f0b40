package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisServer is a redis-server of our own: it may be flushed.
type redisServer struct {
	socket string
	cmd    *exec.Cmd
	client *redis.Client
}

func startRedis(ctx context.Context, dir string) (*redisServer, error) {
	r := &redisServer{socket: filepath.Join(dir, "redis")}
	r.cmd = exec.CommandContext(ctx, "redis-server", "--port", "0", "--unixsocket", r.socket, "--dir", dir, "--save", "")
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	r.client = redis.NewClient(&redis.Options{Network: "unix", Addr: r.socket})
	return r, eventually(ctx, "redis-server", func() error { return r.client.Ping(ctx).Err() })
}

func (r *redisServer) url() string { return "unix://" + r.socket }

func (r *redisServer) stop() {
	r.client.Close()
	r.cmd.Process.Kill()
	r.cmd.Wait()
}

// costOf flushes the store, fills it with n keys and gives the bytes that each
// costs.
func (r *redisServer) costOf(ctx context.Context, n int, fill func(progress) error, name string) (float64, error) {
	if err := r.client.FlushAll(ctx).Err(); err != nil {
		return 0, err
	}
	before, err := r.usedMemory(ctx)
	if err != nil {
		return 0, err
	}
	if err := fill(report(name, n)); err != nil {
		return 0, err
	}
	after, err := r.usedMemory(ctx)
	if err != nil {
		return 0, err
	}
	size, err := r.client.DBSize(ctx).Result()
	switch beside := size - int64(n); {
	case err != nil:
	case beside < 0:
		err = fmt.Errorf("%s: %d keys in the store, want %d", name, size, n)
	case beside > 0: // a call that had to be repeated stands in the decision log
		fmt.Printf("(%d keys beside those of: %s)\n", beside, name)
	}
	return float64(after-before) / float64(n), err
}

// usedMemory reads used_memory, without the buffers of whoever is connected,
// once it stands still: Redis frees the old table of a dictionary that has grown
// a little later.
func (r *redisServer) usedMemory(ctx context.Context) (bytes int64, err error) {
	last := int64(-1)
	err = eventually(ctx, "used_memory stands still", func() error {
		time.Sleep(time.Second)
		info, err := r.client.Info(ctx, "memory").Result()
		if err != nil {
			return err
		}
		used, err := field(info, "used_memory")
		clients, bad := field(info, "mem_clients_normal")
		if err = errors.Join(err, bad); err != nil {
			return err
		}
		bytes = used - clients
		moved := bytes - last
		last = bytes
		if moved < -4096 || moved > 4096 {
			return fmt.Errorf("moved by %d bytes", moved)
		}
		return nil
	})
	return bytes, err
}

func field(info, name string) (n int64, err error) {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			_, err = fmt.Sscan(v, &n)
			return n, err
		}
	}
	return 0, errors.New("INFO has no " + name)
}

// fillPlain writes what a dedup by hand writes.
func (r *redisServer) fillPlain(ctx context.Context, n int, p progress) error {
	const batch = 1000
	for i := 0; i < n; i += batch {
		pipe := r.client.Pipeline()
		for j := i; j < min(i+batch, n); j++ {
			pipe.Set(ctx, hexKey(j), "1", retention)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		p(min(i+batch, n))
	}
	return nil
}

// eventually repeats f until it has no error, for half a minute.
func eventually(ctx context.Context, what string, f func() error) (err error) {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = f(); err == nil || ctx.Err() != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stderr)
	return fmt.Errorf("%s: %w", what, err)
}
