package redistest

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy stands between a client and a Redis and does to the connection what
// networks do. It starts by passing everything.
type Proxy struct {
	Addr string

	tb     testing.TB
	target string

	mu        sync.Mutex
	listener  net.Listener
	conns     map[net.Conn]struct{}
	open      chan struct{} // closed while bytes pass
	answering chan struct{} // closed while the replies of scripts pass
	toSwallow int
	hangUp    bool
	swallowed int
	heldBack  int
	delay     time.Duration
}

// StartProxy starts a proxy before the Redis at target; it ends with tb.
func StartProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	p := &Proxy{Addr: FreeAddr(tb), tb: tb, target: target, conns: map[net.Conn]struct{}{}, open: passing(), answering: passing()}
	p.Accept()
	tb.Cleanup(p.end)
	return p
}

// URL is the proxy's address as go-redis and --redis-url want it.
func (p *Proxy) URL() string { return "redis://" + p.Addr }

// SwallowReplies loses the replies to the next n scripts that Redis has run.
// With hangUp the connection breaks, otherwise it falls silent.
func (p *Proxy) SwallowReplies(n int, hangUp bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.toSwallow, p.hangUp, p.swallowed = n, hangUp, 0
}

// Swallowed is how many replies were lost since SwallowReplies.
func (p *Proxy) Swallowed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.swallowed
}

// HoldReplies keeps back the replies of scripts until Pass.
func (p *Proxy) HoldReplies() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answering, p.heldBack = make(chan struct{}), 0
}

// HeldBack is how many replies were kept back since HoldReplies.
func (p *Proxy) HeldBack() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heldBack
}

// Delay makes whatever Redis answers arrive later by d.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Hold makes the proxy a black hole: connections are accepted, nothing passes.
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = make(chan struct{})
}

// Pass ends Hold and HoldReplies. What was kept back is delivered late, as a
// network does that lost only some packets.
func (p *Proxy) Pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	pass(p.open)
	pass(p.answering)
}

// Refuse breaks all connections and refuses new ones until Accept.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener.Close()
	for c := range p.conns {
		c.Close()
	}
}

// Accept accepts connections again after Refuse.
func (p *Proxy) Accept() {
	p.tb.Helper()
	Eventually(p.tb, "the proxy listens", func() (err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.listener, err = net.Listen("tcp", p.Addr); err == nil {
			go p.serve(p.listener)
		}
		return err
	})
}

func (p *Proxy) end() {
	p.Refuse()
	p.Pass()
}

func (p *Proxy) serve(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		go p.relay(client)
	}
}

// relay joins one client with a connection of its own to Redis.
func (p *Proxy) relay(client net.Conn) {
	defer p.track(client)()
	redis, err := net.DialTimeout("tcp", p.target, 5*time.Second)
	if err != nil {
		return
	}
	defer p.track(redis)()
	link := &link{p: p, client: client, redis: redis}
	go link.answers()
	link.commands()
}

func (p *Proxy) track(c net.Conn) (untrack func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = struct{}{}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, c)
		c.Close()
	}
}

// fate decides about the reply of a script.
func (p *Proxy) fate() (swallow, hangUp bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.toSwallow == 0 {
		return false, false
	}
	p.toSwallow--
	p.swallowed++
	return true, p.hangUp
}

// gate gives what has to be closed before bytes pass.
func (p *Proxy) gate() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// replyGate is gate for the replies of scripts.
func (p *Proxy) replyGate() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.answering:
	default:
		p.heldBack++
	}
	return p.answering
}

// late lets the delay pass.
func (p *Proxy) late() {
	p.mu.Lock()
	d := p.delay
	p.mu.Unlock()
	time.Sleep(d)
}

// link is one client's connection. The driver waits for each reply before it
// sends the next command, so one note of what was asked is enough.
type link struct {
	p             *Proxy
	client, redis net.Conn
	script        atomic.Bool // the reply to come is a script's
}

func (l *link) commands() {
	in := bufio.NewReader(l.client)
	for {
		raw, name, err := readCommand(in)
		if err != nil {
			return
		}
		if name == "evalsha" || name == "eval" {
			l.script.Store(true)
		}
		<-l.p.gate()
		if _, err := l.redis.Write(raw); err != nil {
			return
		}
	}
}

func (l *link) answers() {
	defer l.client.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := l.redis.Read(buf)
		if err != nil {
			return
		}
		if l.script.Swap(false) && !bytes.HasPrefix(buf[:n], []byte("-NOSCRIPT")) {
			if swallow, hangUp := l.p.fate(); swallow {
				if !hangUp {
					io.Copy(io.Discard, l.redis) // silent until the client gives up
				}
				return
			}
			<-l.p.replyGate()
		}
		<-l.p.gate()
		l.p.late()
		if _, err := l.client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// passing is a gate that is open.
func passing() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func pass(gate chan struct{}) {
	select {
	case <-gate:
	default:
		close(gate)
	}
}
