package webhook

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

var errAnswer = errors.New("webhook: no valid answer")

// conn is a connection to a receiver, used by one attempt at a time.
type conn struct {
	net.Conn          // TLS over raw, or raw itself
	raw      net.Conn // is closed alone to end without a TLS alert
	to       origin
	r        *bufio.Reader
	left     int  // bytes that may be read
	again    bool // after an exchange: another one may use the connection
	born     time.Time
	since    time.Time // when it became idle last, zero if it never was
	cut      func()    // ends reads and writes
	peek     func(fd uintptr) bool
	silent   bool // result of peek: nothing to read
	sys      syscall.RawConn
}

// dial connects through the guard.
func (c *client) dial(ctx context.Context, to origin) (*conn, error) {
	address := to.address()
	raw, err := c.guard.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	k := &conn{Conn: raw, raw: raw, to: to, born: time.Now()}
	if to.secure {
		cfg := c.tls.Clone()
		if cfg.ServerName == "" {
			cfg.ServerName, _, _ = net.SplitHostPort(address)
		}
		secure := tls.Client(raw, cfg)
		if err := secure.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, err
		}
		k.Conn = secure
	}
	k.r = bufio.NewReaderSize(source{k}, 4096)
	k.cut = func() { raw.SetDeadline(time.Unix(1, 0)) }
	if s, ok := raw.(syscall.Conn); ok {
		k.sys, _ = s.SyscallConn()
	}
	k.peek = k.look
	return k, nil
}

// source reads from a connection, at most left bytes.
type source struct{ k *conn }

func (s source) Read(b []byte) (int, error) {
	k := s.k
	if k.left <= 0 {
		return 0, errAnswer
	}
	n, err := k.Conn.Read(b[:min(len(b), k.left)])
	k.left -= n
	return n, err
}

// exchange writes a request and reads the answer. It returns the bytes written.
func (k *conn) exchange(request []byte) (resp *http.Response, written int, err error) {
	k.again = false
	written, failed := k.Write(request)
	if failed != nil && written == 0 {
		return nil, 0, failed
	}
	// A receiver may answer, and close, before it has read the whole request.
	k.left = maxHeaderBytes
	if _, err := k.r.Peek(1); err != nil {
		return nil, written, errors.Join(failed, err)
	}
	fresh := failed == nil && time.Since(k.born) < connLife
	if resp := k.brief(); resp != nil {
		k.again = fresh
		return resp, written, nil
	}
	resp, err = k.answer()
	if err != nil {
		return nil, written, errors.Join(failed, err)
	}
	whole := resp.Body == http.NoBody
	if !whole && resp.StatusCode != http.StatusSwitchingProtocols {
		k.left = math.MaxInt // the body has a bound of its own
		head, err := io.ReadAll(io.LimitReader(resp.Body, maxBodyRead))
		whole = err == nil && (len(head) < maxBodyRead || resp.ContentLength == maxBodyRead)
		resp.Body = io.NopCloser(bytes.NewReader(head))
	}
	k.again = fresh && whole && !resp.Close && resp.StatusCode != http.StatusSwitchingProtocols && k.r.Buffered() == 0
	return resp, written, nil
}

// answer reads the status and headers of an answer that has begun, and skips
// informational answers before it. All together have at most maxHeaderBytes.
func (k *conn) answer() (*http.Response, error) {
	for {
		resp, err := http.ReadResponse(k.r, nil)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, errAnswer // the answer has begun
		case err != nil:
			return nil, err
		case resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols:
			return resp, nil
		}
	}
}

// quiet reports whether an idle connection can be used: the receiver has neither closed
// it nor sent anything on it.
func (k *conn) quiet() bool {
	if k.to.secure && !k.empty() {
		return false
	}
	if k.sys == nil { // not a connection of the operating system
		return true
	}
	k.silent = false
	return k.sys.Read(k.peek) == nil && k.silent
}

// empty reports whether the TLS layer has no bytes buffered: bytes that came with the
// previous answer are there, and not in the socket.
func (k *conn) empty() bool {
	k.raw.SetReadDeadline(time.Unix(1, 0)) // reads only from the buffer
	defer k.raw.SetReadDeadline(time.Time{})
	var b [1]byte
	_, err := k.Read(b[:])
	return errors.Is(err, os.ErrDeadlineExceeded)
}
