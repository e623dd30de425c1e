package redistest

import (
	"bufio"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy relays requests and replies between clients and a server. Like a network, it can lose,
// delay and hold back data. It is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	server   string
	group    sync.WaitGroup
	cuts     atomic.Int64
	delay    atomic.Int64 // nanoseconds

	mu     sync.Mutex
	closed bool
	cut    func(Exchange) bool
	open   chan struct{} // closed while requests and replies pass
	conns  map[*proxied]struct{}
}

// Exchange is a request that the server has answered.
type Exchange struct {
	Request [][]byte // the command and its arguments
	Reply   []byte   // unparsed, with the protocol's framing
}

// Failed reports whether the reply is an error.
func (x Exchange) Failed() bool { return x.Reply[0] == '-' || x.Reply[0] == '!' }

// NewProxy listens on a loopback address for clients of the server until the test ends.
func NewProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	p := &Proxy{listener: l, server: server, open: make(chan struct{}), conns: map[*proxied]struct{}{}}
	close(p.open)
	p.group.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Addr returns the address for clients to connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// CutWhen makes the proxy close a connection instead of sending a reply for which judge returns
// true. The server has then executed the request, and the client does not know. CutWhen(nil) turns
// that off. judge is called concurrently.
func (p *Proxy) CutWhen(judge func(Exchange) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = judge
}

// Cuts returns how many replies CutWhen has lost so far.
func (p *Proxy) Cuts() int { return int(p.cuts.Load()) }

// Delay delays each reply on a connection by d, one reply after the other. Delay(0) turns that off.
func (p *Proxy) Delay(d time.Duration) { p.delay.Store(int64(d)) }

// BlackHole holds back all requests and replies without closing connections: clients can connect
// but get no answer. Pass ends it, and delivers the data that was held back.
func (p *Proxy) BlackHole() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.passing() {
		p.open = make(chan struct{})
	}
}

// Pass ends a black hole.
func (p *Proxy) Pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.passing() {
		close(p.open)
	}
}

func (p *Proxy) passing() bool {
	select {
	case <-p.open:
		return true
	default:
		return false
	}
}

func (p *Proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		c.close()
	}
	p.mu.Unlock()
	p.group.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		c := &proxied{p: p, client: client, server: server, asked: make(chan value, maxAsked), gone: make(chan struct{})}
		p.mu.Lock()
		if p.closed {
			c.close()
		}
		p.conns[c] = struct{}{}
		p.mu.Unlock()
		p.group.Go(c.requests)
		p.group.Go(c.replies)
	}
}

// maxAsked is the maximum number of unanswered requests on a connection. When it is reached, the
// proxy stops reading requests.
const maxAsked = 4096

// proxied is a client's connection, and the proxy's connection to the server for it.
type proxied struct {
	p              *Proxy
	client, server net.Conn
	asked          chan value
	gone           chan struct{}
	once           sync.Once
}

func (c *proxied) close() {
	c.once.Do(func() {
		close(c.gone)
		c.client.Close()
		c.server.Close()
	})
}

// end closes and forgets the connection.
func (c *proxied) end() {
	c.close()
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	delete(c.p.conns, c)
}

// requests passes on the client's requests.
func (c *proxied) requests() {
	defer c.end()
	r := bufio.NewReader(c.client)
	for {
		v, err := readValue(r)
		if err != nil || !c.mayPass() {
			return
		}
		select {
		case c.asked <- v:
		case <-c.gone:
			return
		}
		if _, err := c.server.Write(v.raw); err != nil {
			return
		}
	}
}

// replies passes on the server's replies, each paired with its request.
func (c *proxied) replies() {
	defer c.end()
	r := bufio.NewReader(c.server)
	for {
		v, err := readValue(r)
		if err != nil || !c.mayPass() {
			return
		}
		if v.kind() != '>' { // a pushed value is no reply
			select {
			case request := <-c.asked: // was queued before the request was sent
				if c.p.loses(Exchange{Request: request.parts, Reply: v.raw}) {
					return
				}
			case <-c.gone:
				return
			}
		}
		if !c.wait(time.Duration(c.p.delay.Load())) {
			return
		}
		if _, err := c.client.Write(v.raw); err != nil {
			return
		}
	}
}

// loses reports whether CutWhen's judge wants a reply to be lost, and counts the lost reply.
func (p *Proxy) loses(x Exchange) bool {
	p.mu.Lock()
	cut := p.cut
	p.mu.Unlock()
	if cut == nil || !cut(x) {
		return false
	}
	p.cuts.Add(1)
	return true
}

// mayPass waits for the end of a black hole. It returns false if the connection ends first.
func (c *proxied) mayPass() bool {
	c.p.mu.Lock()
	open := c.p.open
	c.p.mu.Unlock()
	select {
	case <-open:
		return true
	case <-c.gone:
		return false
	}
}

// wait waits for d. It returns false if the connection ends first.
func (c *proxied) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.gone:
		return false
	}
}
