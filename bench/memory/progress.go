package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress is told how many keys are done.
type progress func(done int)

func nothing(int) {}

// report shows progress on a terminal, and nothing elsewhere.
func report(name string, n int) progress {
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return nothing
	}
	var mu sync.Mutex
	begin, shown := time.Now(), time.Time{}
	return func(done int) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(shown) < 200*time.Millisecond && done < n {
			return
		}
		shown = time.Now()
		fmt.Fprintf(os.Stderr, "\r%s: %d of %d, %.0f/s\x1b[K", name, done, n, float64(done)/time.Since(begin).Seconds())
		if done == n {
			fmt.Fprint(os.Stderr, "\r\x1b[K")
		}
	}
}
