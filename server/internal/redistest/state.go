package redistest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// Keys are all keys that start with prefix, in order.
func (s *Server) Keys(prefix string) []string {
	s.tb.Helper()
	c := s.admin()
	return slices.Sorted(s.each(c, prefix))
}

// Snapshot is every key with its value, serialised by DUMP, and the instant of
// its end: two are equal if nothing was written in between.
func (s *Server) Snapshot() map[string]string {
	s.tb.Helper()
	c := s.admin()
	all := map[string]string{}
	for key := range s.each(c, "") {
		v, err := c.Dump(context.Background(), key).Result()
		if errors.Is(err, redis.Nil) {
			continue // gone since the scan
		}
		s.must(err)
		end, _ := c.PExpireTime(context.Background(), key).Result() // unknown before Redis 7: 0 then
		all[key] = fmt.Sprintf("%q until %d", v, end.Milliseconds())
	}
	return all
}

// Unexpiring are the keys that would stay for ever.
func (s *Server) Unexpiring() (keys []string) {
	s.tb.Helper()
	c := s.admin()
	for key := range s.each(c, "") {
		ttl, err := c.PTTL(context.Background(), key).Result()
		s.must(err)
		if ttl == -1 {
			keys = append(keys, key)
		}
	}
	return keys
}

// Size is DBSIZE.
func (s *Server) Size() int64 {
	s.tb.Helper()
	c := s.admin()
	n, err := c.DBSize(context.Background()).Result()
	s.must(err)
	return n
}

// Do runs one command.
func (s *Server) Do(args ...any) any {
	s.tb.Helper()
	c := s.admin()
	v, err := c.Do(context.Background(), args...).Result()
	s.must(err)
	return v
}

// Pause stops the process without ending it, as a machine does that swaps.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume ends Pause.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.tb.Helper()
	s.must(s.cmd.Process.Signal(sig))
}

// admin is the client of these helpers. It reconnects after a Kill by itself.
func (s *Server) admin() *redis.Client {
	if s.own == nil {
		s.own = s.Client()
	}
	return s.own
}

// each goes over the keys that start with prefix, each at least once.
func (s *Server) each(c *redis.Client, prefix string) func(func(string) bool) {
	return func(yield func(string) bool) {
		s.tb.Helper()
		scan := c.Scan(context.Background(), 0, literally(prefix)+"*", 1000).Iterator()
		for scan.Next(context.Background()) {
			if !yield(scan.Val()) {
				return
			}
		}
		s.must(scan.Err())
	}
}

// literally quotes what SCAN would take for a pattern.
func literally(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

func (s *Server) must(err error) {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatalf("redis: %v", err)
	}
}
