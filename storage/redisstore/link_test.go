package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// link dials connections to a server that can lose replies and mix them up.
type link struct {
	server string

	mu    sync.Mutex
	fault func(request []byte) linkFault // asked once for every script
	last  []byte                         // the last script that was sent
}

type linkFault int

const (
	noFault   linkFault = iota
	loseReply           // the script runs, and the connection breaks before its reply comes
	mixReply            // another call's reply comes first
)

func (l *link) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, l.server)
	if err != nil {
		return nil, err
	}
	return &linkConn{Conn: c, link: l}, nil
}

// set makes fault decide about the scripts sent from now on; nil lets all pass.
func (l *link) set(fault func(request []byte) linkFault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = fault
}

// once makes the fault happen to the next script.
func (l *link) once(f linkFault) {
	done := false
	l.set(func([]byte) linkFault {
		if done {
			return noFault
		}
		done = true
		return f
	})
}

// captured returns the last request with a script, as it was sent.
func (l *link) captured() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

func (l *link) judge(request []byte) linkFault {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = bytes.Clone(request)
	if l.fault == nil {
		return noFault
	}
	return l.fault(request)
}

// linkConn is used by one call at a time.
type linkConn struct {
	net.Conn
	link    *link
	pending linkFault
	extra   []byte
}

// Write sees a whole request, as long as that fits the client's buffer.
func (c *linkConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("\r\nevalsha\r\n")) || bytes.Contains(b, []byte("\r\neval\r\n")) {
		c.pending = c.link.judge(b)
	}
	return c.Conn.Write(b)
}

func (c *linkConn) Read(b []byte) (int, error) {
	switch f := c.pending; f {
	case loseReply:
		c.pending = noFault
		if _, err := c.Conn.Read(b); err != nil { // comes when the script has run
			return 0, err
		}
		c.Close()
		return 0, io.EOF
	case mixReply:
		c.pending = noFault
		c.extra = []byte("*2\r\n$9\r\nanother:1\r\n$4\r\ndone\r\n")
	}
	if len(c.extra) > 0 {
		n := copy(b, c.extra)
		c.extra = c.extra[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

// openLinked is open with a link between the store and the server.
func openLinked(t testing.TB, opts redisstore.Options) (*redisstore.Store, *link, *miniredis.Miniredis) {
	t.Helper()
	server := miniredis.RunT(t)
	l := &link{server: server.Addr()}
	s, _ := openBy(t, &redis.UniversalOptions{Addrs: []string{server.Addr()}, Dialer: l.dial}, opts)
	return s, l, server
}

// resend sends a request over a connection of its own, and returns the reply.
func resend(t testing.TB, addr string, request []byte) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	must(t, err)
	defer c.Close()
	_, err = c.Write(request)
	must(t, err)
	reply := make([]byte, 4096)
	n, err := c.Read(reply)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return string(reply[:n])
}
