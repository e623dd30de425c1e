package wshub_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver/wshub"
)

// rawDial upgrades a connection by hand, so that a test can send any bytes.
func rawDial(t testing.TB, w *world, headers string) net.Conn {
	t.Helper()
	nc, err := w.dial(context.Background(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return handshake(t, nc, headers)
}

// handshake reads no byte beyond the answer's header.
func handshake(t testing.TB, nc net.Conn, headers string) net.Conn {
	t.Helper()
	go io.WriteString(nc, "GET /v1/social/stream HTTP/1.1\r\nHost: hub.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-Api-Key: key-ann\r\n"+headers+"\r\n")
	var head strings.Builder
	for b := make([]byte, 1); !strings.HasSuffix(head.String(), "\r\n\r\n"); head.Write(b) {
		if _, err := io.ReadFull(nc, b); err != nil {
			t.Fatalf("%q: %v", head.String(), err)
		}
	}
	if !strings.HasPrefix(head.String(), "HTTP/1.1 101 ") {
		t.Fatal(head.String())
	}
	if headers != "" && strings.Contains(head.String(), "Extensions") {
		t.Errorf("compression was agreed to: %s", head.String())
	}
	return nc
}

func discard(nc net.Conn) { io.Copy(io.Discard, nc) }

// wire is a masked frame. The mask is zero, so that the payload is plain.
func wire(first byte, payload string) string {
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	return string(append(b, 0, 0, 0, 0)) + payload
}

const (
	fin                     = 0x80
	opText, opBinary        = 1, 2
	opClose, opPing, opPong = 8, 9, 10
)

// closeCode reads frames until the close frame; 0 when there is none.
func closeCode(r io.Reader) int {
	br := bufio.NewReader(r)
	for {
		var h [2]byte
		if _, err := io.ReadFull(br, h[:]); err != nil {
			return 0
		}
		n := int64(h[1])
		if n == 126 {
			var l [2]byte
			io.ReadFull(br, l[:])
			n = int64(binary.BigEndian.Uint16(l[:]))
		}
		p := make([]byte, n)
		if _, err := io.ReadFull(br, p); err != nil {
			return 0
		}
		if h[0] == fin|opClose && n >= 2 {
			return int(binary.BigEndian.Uint16(p))
		}
	}
}

func TestHostileClients(t *testing.T) {
	big := `{"type":"pong","x":"` + strings.Repeat("x", 33<<10) + `"}`
	rows := map[string]struct {
		send  string
		again time.Duration // and again after so long, until the connection is closed
		code  int           // 0: it may be cut without a word
		open  bool          // it stays
	}{
		"pong in JSON":                        {send: wire(fin|opText, `{"type":"pong"}`), open: true},
		"a type from the future":              {send: wire(fin|opText, `{"type":"subscribe"}`), open: true},
		"a message in three fragments":        {send: wire(opText, `{"type"`) + wire(0, `:"po`) + wire(fin, `ng"}`), open: true},
		"a ping between fragments":            {send: wire(opText, `{"type"`) + wire(fin|opPing, "x") + wire(fin, `:"pong"}`), open: true},
		"almost 32 KiB":                       {send: wire(fin|opText, `{"x":"`+strings.Repeat("x", 32<<10-8)+`"}`), open: true},
		"more than 32 KiB":                    {send: wire(fin|opText, big), code: 1009},
		"more than 32 KiB in fragments":       {send: wire(opText, big[:20_000]) + wire(fin, big[20_000:]), code: 1009},
		"the header of 2^62 bytes":            {send: "\x81\xff\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + strings.Repeat("x", 40<<10), code: 1009},
		"the header of 2^62 bytes, and wait":  {send: "\x81\xff\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"},
		"half a message, and wait":            {send: wire(opText, `{"type":`)},
		"one-byte fragments without end":      {send: wire(opText, "x") + strings.Repeat(wire(0, "x"), 100), again: time.Millisecond},
		"empty fragments without end":         {send: wire(opText, "x"), again: time.Millisecond},
		"no UTF-8":                            {send: wire(fin|opText, "{\"type\":\"\xff\xfe\"}"), code: 1007},
		"half a letter at the end":            {send: wire(fin|opText, "{\"a\":1}\xc3"), code: 1007},
		"a letter cut by a fragment is whole": {send: wire(opText, "{\"type\":\"\xc3") + wire(fin, "\xa4\"}"), open: true},
		"binary":                              {send: wire(fin|opBinary, "{}"), code: 1003},
		"no JSON":                             {send: wire(fin|opText, "hello"), code: 1008},
		"an unmasked frame":                   {send: "\x81\x02{}"},
		"a reserved bit":                      {send: wire(fin|0x40|opText, "{}"), code: 1002},
		"an unknown opcode":                   {send: wire(fin|3, "{}"), code: 1002},
		"a fragment of nothing":               {send: wire(fin, "{}"), code: 1002},
		"a message within a message":          {send: wire(opText, "{") + wire(fin|opText, "{}"), code: 1002},
		"a long ping":                         {send: wire(fin|opPing, strings.Repeat("x", 126)), code: 1002},
		"a ping in fragments":                 {send: wire(opPing, "x"), code: 1002},
		"100 messages at once":                {send: strings.Repeat(wire(fin|opText, "{}"), 100), open: true},
		"100 messages a second":               {send: strings.Repeat(wire(fin|opText, "{}"), 100), again: time.Second, open: true},
		"101 messages at once":                {send: strings.Repeat(wire(fin|opText, "{}"), 101), code: 1008},
		"pings without end":                   {send: strings.Repeat(wire(fin|opPing, "flood"), 1000), again: time.Millisecond, code: 1008},
		"pongs without end":                   {send: strings.Repeat(wire(fin|opPong, "flood"), 1000), again: time.Millisecond, code: 1008},
	}
	for name, row := range rows {
		if name == "empty fragments without end" {
			row.send = wire(opText, "x") + strings.Repeat(wire(0, ""), 1000)
		}
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(t *testing.T, w *world) {
				nc := rawDial(t, w, "Sec-WebSocket-Extensions: permessage-deflate\r\n")
				start := time.Now()
				var sending sync.WaitGroup
				sending.Go(func() {
					for sent := false; !sent || row.again > 0; sent = true {
						send := row.send
						if sent && send[0] == opText { // continue the message
							send = send[len(wire(opText, "x")):]
						}
						if _, err := io.WriteString(nc, send); err != nil {
							return
						}
						<-time.After(row.again)
					}
				})
				code := make(chan int, 1)
				go func() { code <- closeCode(nc) }()
				if row.open {
					advance(3 * time.Second)
					if n := w.hub.Stats().Connections; n != 1 {
						t.Error("closed")
					}
					nc.Close()
					sending.Wait()
					return
				}
				got := <-code
				nc.Close()
				sending.Wait()
				if row.code != 0 && got != row.code {
					t.Errorf("closed with %d, want %d", got, row.code)
				}
				if took := time.Since(start); took > 2*time.Second {
					t.Errorf("after %s", took)
				}
				synctest.Wait()
				if n := w.hub.Stats().Connections; n != 0 {
					t.Errorf("%d connections left", n)
				}
			})
		})
	}
}

// TestRealSockets has over loopback what pipes cannot show: buffers of the
// kernel, and a server of net/http as users have it.
func TestRealSockets(t *testing.T) {
	w := newWorld(t, nil)
	srv := httptest.NewServer(w.hub)
	defer srv.Close()
	defer w.hub.Shutdown(context.Background())
	w.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", srv.Listener.Addr().String())
	}
	w.store.commit(repeat(alpha, 500)...)
	live, late := w.open("monitor_id=mon_a"), w.open("since=400")
	live.wants("connected 500")
	late.wants(append([]string{"connected 400"}, tweets(401, 500)...)...)
	for n := uint64(501); n <= 700; n++ {
		w.hub.Publish(w.store.commit(alpha))
		live.wants(tweets(n, n)...)
	}
	late.wants(tweets(501, 700)...)
	// 100,000 pings, as fast as they go.
	nc := rawDial(t, w, "")
	nc.SetDeadline(time.Now().Add(20 * time.Second))
	pings := strings.Repeat(wire(fin|opPing, "flood"), 1000)
	start := time.Now()
	for range 100 {
		if _, err := io.WriteString(nc, pings); err != nil {
			break
		}
	}
	io.Copy(io.Discard, nc)
	if took := time.Since(start); took > 10*time.Second { // 1 s, and what a busy machine adds
		t.Errorf("a flood of pings went on for %s", took)
	}
	live.ws.CloseNow()
	c := w.open("since=700")
	c.wants("connected 700")
	w.keys.revoke("ann")
	w.hub.Revoke("id-ann")
	c.wantsEnd(4001, "error 4001")
}

var _ http.Handler = (*wshub.Hub)(nil)
