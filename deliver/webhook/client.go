package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/internal/netguard"
)

// client sends HTTP/1.1 requests over its own connections, one request at a time on
// each: a lane's bound on attempts is then a bound on connections, and no receiver can
// stall others on a shared connection. An attempt needs no other goroutine, which costs
// half as much as net/http's client. net/http parses the answers.
type client struct {
	guard *netguard.Guard
	tls   *tls.Config // without ServerName

	mu    sync.Mutex
	idle  map[origin][]*conn // in the order in which they became idle
	count int                // idle connections
	timer *time.Timer        // runs while there are idle connections
}

// origin is the other end of a connection.
type origin struct {
	secure bool
	host   string // of the URL, with a port unless it is the scheme's
}

// address returns the host and port.
func (o origin) address() string {
	u := url.URL{Host: o.host}
	port := u.Port()
	if port == "" {
		if port = "80"; o.secure {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// newClient returns a client. It uses no proxy: the guard would see only the proxy's
// address.
func newClient(g *netguard.Guard) *client {
	return &client{guard: g, tls: &tls.Config{MinVersion: tls.VersionTLS12}, idle: make(map[origin][]*conn)}
}

// RoundTrip implements http.RoundTripper for the requests of a Sender: the header has only
// checked names and values. The context ends every step. The answer's body is in memory, cut
// at maxBodyRead bytes; an answer counts even if its body was cut by the context.
func (c *client) RoundTrip(req *http.Request) (*http.Response, error) {
	buf := requests.Get().(*bytes.Buffer)
	buf.Reset()
	writeRequest(buf, req)
	if buf.Cap() <= maxKeptRequest {
		defer requests.Put(buf)
	}
	return c.post(req.Context(), origin{req.URL.Scheme == "https", req.URL.Host}, buf.Bytes())
}

// requests are buffers for whole requests.
var requests = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// writeRequest writes an HTTP/1.1 request.
func writeRequest(b *bytes.Buffer, req *http.Request) {
	b.WriteString("POST ")
	b.WriteString(req.URL.RequestURI())
	b.WriteString(" HTTP/1.1\r\nHost: ")
	b.WriteString(req.URL.Host)
	b.WriteString("\r\nContent-Length: ")
	b.Write(strconv.AppendInt(b.AvailableBuffer(), req.ContentLength, 10))
	b.WriteString("\r\n")
	for name, values := range req.Header {
		for _, v := range values {
			b.WriteString(name)
			b.WriteString(": ")
			b.WriteString(v)
			b.WriteString("\r\n")
		}
	}
	b.WriteString("\r\n")
	io.Copy(b, req.Body) // is in memory
}

// post makes one attempt with a whole request. The request is sent a second time only if no
// byte of it could be written to a kept connection.
func (c *client) post(ctx context.Context, to origin, request []byte) (*http.Response, error) {
	for first := true; ; first = false {
		k, err := c.take(ctx, to, first)
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, k.cut)
		resp, written, err := k.exchange(request)
		if inTime := stop(); inTime && k.again {
			c.keep(k)
		} else {
			k.raw.Close()
		}
		switch {
		case err == nil:
			return resp, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case k.since.IsZero() || written > 0:
			return nil, err
		}
	}
}

// take returns a connection: a kept one that can be used, if kept allows it, else a new
// one.
func (c *client) take(ctx context.Context, to origin, kept bool) (*conn, error) {
	for kept {
		k := c.pop(to)
		if k == nil {
			break
		}
		if k.quiet() {
			return k, nil
		}
		k.raw.Close()
	}
	return c.dial(ctx, to)
}

func (c *client) pop(to origin) *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.idle[to]
	if len(list) == 0 {
		return nil
	}
	k := list[len(list)-1]
	list[len(list)-1] = nil
	c.idle[to] = list[:len(list)-1]
	c.count--
	return k
}

// keep adds a connection to the idle ones. If there are too many, it closes one: see
// oldest.
func (c *client) keep(k *conn) {
	now := time.Now()
	k.since = now
	var gone *conn
	c.mu.Lock()
	if c.count >= idleTotal {
		gone = c.oldest()
	}
	c.idle[k.to] = append(c.idle[k.to], k)
	c.count++
	if c.timer == nil {
		c.timer = time.AfterFunc(idleTimeout, c.sweep)
	}
	c.mu.Unlock()
	if gone != nil {
		gone.Close()
	}
}

// oldest removes and returns the longest idle connection of some receiver.
func (c *client) oldest() *conn {
	for to, list := range c.idle {
		if len(list) == 0 {
			delete(c.idle, to)
			continue
		}
		k := list[0]
		c.idle[to] = slices.Delete(list, 0, 1)
		c.count--
		return k
	}
	return nil
}

// sweep closes connections that were idle for idleTimeout, and sets the timer for the next
// one.
func (c *client) sweep() {
	now := time.Now()
	var gone []*conn
	next := time.Duration(-1)
	c.mu.Lock()
	for to, list := range c.idle {
		n := 0
		for n < len(list) && now.Sub(list[n].since) >= idleTimeout {
			n++
		}
		gone = append(gone, list[:n]...)
		c.count -= n
		if list = slices.Delete(list, 0, n); len(list) == 0 {
			delete(c.idle, to)
			continue
		}
		c.idle[to] = list
		if wait := list[0].since.Add(idleTimeout).Sub(now); next < 0 || wait < next {
			next = wait
		}
	}
	if c.timer = nil; next >= 0 {
		c.timer = time.AfterFunc(next, c.sweep)
	}
	c.mu.Unlock()
	for _, k := range gone {
		k.Close()
	}
}

// closeIdle closes the idle connections.
func (c *client) closeIdle() {
	c.mu.Lock()
	gone := slices.Concat(slices.Collect(maps.Values(c.idle))...)
	clear(c.idle)
	c.count = 0
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	c.mu.Unlock()
	for _, k := range gone {
		k.Close()
	}
}
