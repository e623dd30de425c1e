package webhook

import (
	"bufio"
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

	"github.com/streamwatch/streamwatch/deliver"
)

var errAnswer = errors.New("webhook: no valid answer")

// conn is a connection to a receiver, used by one attempt at a time.
type conn struct {
	net.Conn          // what is spoken over: TLS or raw itself
	raw      net.Conn // closed at once when there is nothing to be polite about
	to       origin
	r        *bufio.Reader
	left     int  // bytes that may be read
	again    bool // after an exchange: it may be used for another
	born     time.Time
	since    time.Time // when it became idle last, zero if it never was
	cut      func()    // ends what is read or written
	peek     func(fd uintptr) bool
	silent   bool // what peek has found
	sys      syscall.RawConn
}

// dial connects through the guard.
func (c *client) dial(ctx context.Context, to origin) (*conn, error) {
	raw, err := c.guard.DialContext(ctx, "tcp", to.address)
	if err != nil {
		return nil, err
	}
	k := &conn{Conn: raw, raw: raw, to: to, born: time.Now()}
	if to.secure {
		cfg := c.tls.Clone()
		if cfg.ServerName == "" {
			cfg.ServerName, _, _ = net.SplitHostPort(to.address)
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

// source reads from a connection, up to the bytes that are left.
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

// exchange writes a request and judges the answer. It returns how much was written.
func (k *conn) exchange(request []byte) (r deliver.Result, written int, err error) {
	k.again = false
	written, failed := k.Write(request)
	if failed != nil && written == 0 {
		return r, 0, failed
	}
	// A receiver that does not want all of a request may answer before it has it.
	k.left = maxHeaderBytes
	if _, err := k.r.Peek(1); err != nil {
		return r, written, errors.Join(failed, err)
	}
	if r, ok := k.brief(); ok {
		k.again = failed == nil && time.Since(k.born) < connLife
		return r, written, nil
	}
	resp, err := k.answer()
	if err != nil {
		return r, written, errors.Join(failed, err)
	}
	k.left = math.MaxInt // the body has a bound of its own
	r, whole := result(resp)
	k.again = failed == nil && whole && !resp.Close && resp.StatusCode != http.StatusSwitchingProtocols && k.r.Buffered() == 0 &&
		time.Since(k.born) < connLife
	return r, written, nil
}

// answer reads the status and headers of an answer that has begun, maxHeaderBytes
// in all with those of the informational ones before it.
func (k *conn) answer() (*http.Response, error) {
	for {
		resp, err := http.ReadResponse(k.r, nil)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, errAnswer // it has begun one
		case err != nil:
			return nil, err
		case resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols:
			return resp, nil
		}
	}
}

// quiet reports whether a connection can be used again: the receiver has neither
// closed it nor said anything since.
func (k *conn) quiet() bool {
	if k.to.secure && !k.empty() {
		return false
	}
	if k.sys == nil { // not of the operating system
		return true
	}
	k.silent = false
	return k.sys.Read(k.peek) == nil && k.silent
}

// empty reports whether TLS holds nothing of an answer: what came with the one
// before is in its buffer, where the socket does not show it.
func (k *conn) empty() bool {
	k.raw.SetReadDeadline(time.Unix(1, 0)) // reads what is in the buffer, and no more
	defer k.raw.SetReadDeadline(time.Time{})
	var b [1]byte
	_, err := k.Read(b[:])
	return errors.Is(err, os.ErrDeadlineExceeded)
}
