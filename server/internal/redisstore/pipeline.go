package redisstore

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// pipelineLength bounds one exchange, so that nobody waits for thousands.
	pipelineLength = 256

	// pipelineBytes bounds what is sent in one exchange of more than one call: it
	// must be over within attemptTimeout, and many large results would not be.
	pipelineBytes = 1 << 20

	// most is how many exchanges with one node are under way at most. As long as
	// the node is fast it is one, and another when that one takes longer than
	// patience.
	most, patience = 16, 5 * time.Millisecond

	// fast and slow are exchanges after which pipelines grow, and shrink.
	fast, slow = 10 * time.Millisecond, 100 * time.Millisecond

	// queueLength bounds what waits for a node: with more, callers are turned
	// away before memory grows.
	queueLength = 16 << 10
)

// call is one run of a script.
type call struct {
	script *script
	keys   []string
	args   []any

	// share tells calls that may have one answer; "": none. answersAll tells
	// whether a reply is an answer to all of them.
	share      string
	answersAll func(reply string) bool
}

// flight is a call on its way.
type flight struct {
	call
	ctx      context.Context
	since    time.Time
	replicas int // that must confirm what it writes

	followers []*flight // have the same call.share and came before it was sent
	reply     string
	err       error
	landed    chan struct{} // closed when reply and err are there
}

func (f *flight) land(reply string, err error) {
	f.reply, f.err = reply, err
	close(f.landed)
}

// pipeline sends calls to one node: those that arrive while others are under way
// go together, in one exchange. Few long exchanges cost much less than many short
// ones, as long as the node is fast. Behind a slow one each call would wait for
// all before it, so there they are short, and many.
type pipeline struct {
	store    *Store
	node     *redis.Client
	replicas int

	mu      sync.Mutex
	queue   []*flight
	shared  map[string]*flight // those of the queue that others may share
	waiting int                // in the queue, and sharing what is there
	running int                // exchanges
	length  int                // of the next one, at most
	started time.Time          // the last one
}

// board puts a flight into the queue, or lets it share the answer of one that is
// there. Only what has not been sent is shared: the answer is then as true as one
// of its own. It says no when the queue is full.
func (p *pipeline) board(f *flight) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting >= queueLength {
		return false
	}
	p.waiting++
	if f.share != "" {
		if first := p.shared[f.share]; first != nil {
			first.followers = append(first.followers, f)
			return true
		}
		p.shared[f.share] = f
	}
	p.queue = append(p.queue, f)
	p.open(p.running == 0 || p.running < most && f.since.Sub(p.started) > patience)
	return true
}

// open starts another exchange if as many as the length allows are not under way,
// or anyway.
func (p *pipeline) open(anyway bool) {
	if anyway || p.running < most/p.length {
		p.running++
		go p.run()
	}
}

// run sends what waits until nothing does. It lets others go first each time: who
// is about to board then travels along.
func (p *pipeline) run() {
	for runtime.Gosched(); ; runtime.Gosched() {
		flights := p.next()
		if len(flights) == 0 {
			return
		}
		flights = slices.DeleteFunc(flights, p.tooLate)
		if len(flights) == 0 {
			continue // that tells nothing of the node
		}
		start := time.Now()
		p.adapt(p.exchange(flights), time.Since(start))
	}
}

// adapt sets the length of the next exchange by how the last one went.
func (p *pipeline) adapt(ok bool, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !ok:
		p.length = 1
	case took > slow:
		p.length = max(1, p.length/2)
	case took < fast && (p.running > 1 || len(p.queue) > 0):
		p.length = min(2*p.length, pipelineLength)
	}
}

func (p *pipeline) next() []*flight {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for bytes := 0; n < min(len(p.queue), p.length); n++ {
		if bytes += p.queue[n].bytes(); n > 0 && bytes > pipelineBytes {
			break
		}
	}
	if n == 0 {
		p.running--
		return nil
	}
	p.started = time.Now()
	flights := slices.Clone(p.queue[:n])
	p.queue = slices.Delete(p.queue, 0, n)
	for _, f := range flights {
		p.waiting -= 1 + len(f.followers)
		if f.share != "" {
			delete(p.shared, f.share)
		}
	}
	if len(p.queue) > 0 { // pipelines may have become shorter
		p.open(false)
	}
	return flights
}

// exchange sends flights in one pipeline and tells whether the node answered. A
// script that it has not seen goes once more, whole.
func (p *pipeline) exchange(flights []*flight) (ok bool) {
	unseen, ok := p.send(flights, false)
	if len(unseen) > 0 {
		unseen, ok = p.send(unseen, true)
	}
	for _, f := range unseen {
		go p.store.follow(f, errUnseen)
	}
	return ok
}

// tooLate lands a flight that nobody waits for any more, or that has waited for
// as long as a call may take.
func (p *pipeline) tooLate(f *flight) bool {
	err := f.ctx.Err()
	if len(f.followers) > 0 {
		err = nil // others wait
	}
	if err == nil && time.Since(f.since) > callTimeout {
		err = errWaited
	}
	if err != nil {
		p.store.deliver(f, "", err)
	}
	return err != nil
}

// send gives the flights that the node refused because it has not seen their
// script. whole sends the first of each script with its text.
func (p *pipeline) send(flights []*flight, whole bool) (unseen []*flight, ok bool) {
	// The driver would send a pipeline that failed again as it is. One by one has
	// a better chance, so that there is time for one exchange only.
	ctx, cancel := context.WithTimeout(context.Background(), exchangeTimeout)
	defer cancel()
	cmds := make([]redis.Cmder, len(flights), len(flights)+1)
	var texts []*script
	for i, f := range flights {
		text := whole && !slices.Contains(texts, f.script)
		if text {
			texts = append(texts, f.script)
		}
		cmds[i] = f.command(ctx, text)
	}
	var waited *redis.IntCmd
	if p.replicas > 0 {
		waited = waitFor(ctx, p.replicas)
		cmds = append(cmds, waited)
	}
	sendAll(ctx, p.node, cmds)
	ok = true
	for i, f := range flights {
		cmd := cmds[i].(*redis.StringCmd)
		switch err := cmd.Err(); {
		case err == nil && waited != nil:
			p.store.deliver(f, cmd.Val(), confirmed(waited, p.replicas))
		case err == nil:
			p.store.deliver(f, cmd.Val(), nil)
		case redis.HasErrorPrefix(err, "NOSCRIPT"):
			unseen = append(unseen, f)
		case refused(err):
			p.store.deliver(f, "", err)
		default:
			ok = ok && answered(err)
			go p.store.follow(f, err)
		}
	}
	return unseen, ok
}

// sendAll sends commands in one pipeline; each tells for itself how it went. Where
// Redis refuses the connection, the driver tells none of them: none was sent then.
func sendAll(ctx context.Context, node *redis.Client, cmds []redis.Cmder) {
	pipe := node.Pipeline()
	pipe.BatchProcess(ctx, cmds...)
	_, err := pipe.Exec(ctx)
	if err != nil && !slices.ContainsFunc(cmds, failed) {
		for _, cmd := range cmds {
			cmd.SetErr(err)
		}
	}
}

func failed(cmd redis.Cmder) bool { return cmd.Err() != nil }

// waitFor goes with the writes that it is about: WAIT speaks of those of its own
// connection.
func waitFor(ctx context.Context, replicas int) *redis.IntCmd {
	return redis.NewIntCmd(ctx, "wait", replicas, waitTimeout.Milliseconds())
}

// confirmed tells whether the replicas have what was written.
func confirmed(waited *redis.IntCmd, asked int) error {
	if n, err := waited.Result(); err != nil {
		return err
	} else if n < int64(asked) {
		return notReplicated(n, asked)
	}
	return nil
}

// deliver lands a flight and those that share its answer. Whom the answer does
// not suit travels on alone.
func (s *Store) deliver(f *flight, reply string, err error) {
	if len(f.followers) > 0 {
		suits := err == nil && f.answersAll(reply) || err != nil && err != errWaited && f.ctx.Err() == nil
		for _, other := range f.followers {
			if suits {
				other.land(reply, err)
			} else {
				other.share = ""
				s.depart(other)
			}
		}
	}
	f.land(reply, err)
}

// bytes is how large the call's arguments are.
func (c *call) bytes() (n int) {
	for _, a := range c.args {
		switch a := a.(type) {
		case []byte:
			n += len(a)
		case string:
			n += len(a)
		}
	}
	return n
}

// command is the flight as Redis takes it.
func (f *flight) command(ctx context.Context, whole bool) *redis.StringCmd {
	args := make([]any, 0, 3+len(f.keys)+len(f.args))
	if whole {
		args = append(args, "eval", f.script.text)
	} else {
		args = append(args, "evalsha", f.script.hash)
	}
	args = append(args, len(f.keys))
	for i := range f.keys {
		args = append(args, &f.keys[i]) // a pointer: it need not be copied
	}
	return redis.NewStringCmd(ctx, append(args, f.args...)...)
}
