package main

import (
	"encoding/csv"
	"fmt"
	"net"
	"os/exec"
	"strings"
)

// redisAlone says what Redis does without anyone in front, by redis-benchmark.
func redisAlone(h *house) error {
	r, err := h.redis()
	if err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(r.Addr)
	for _, depth := range [][]string{{"-c", "64", "-P", "1"}, {"-c", "8", "-P", "64"}} {
		args := append([]string{"-h", host, "-p", port, "--csv", "-n", "200000", "-r", "100000000"}, depth...)
		out, err := exec.Command("redis-benchmark", append(args, "set", "key:__rand_int__", "1", "nx", "get", "px", "3600000")...).Output()
		if err != nil {
			return fmt.Errorf("redis-benchmark: %w", err)
		}
		rows, err := csv.NewReader(strings.NewReader(string(out))).ReadAll()
		if err != nil || len(rows) < 2 || len(rows[1]) < 2 {
			return fmt.Errorf("redis-benchmark says %q", out)
		}
		fmt.Printf("redis-benchmark, SET NX GET PX, %s: %s per second\n", strings.Join(depth, " "), rows[1][1])
	}
	fmt.Println()
	return nil
}
