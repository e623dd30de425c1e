package webhook_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/internal/netguard"
)

// keeper answers requests on every connection to it by a script, and counts both.
type keeper struct {
	url             string
	conns, requests atomic.Int64
	closed          chan struct{} // has one for each connection that has ended
}

// keep has answer called for each request; the connection ends when that is
// false.
func keep(t *testing.T, answer func(c net.Conn, nth int) bool) *keeper {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{url: "http://" + l.Addr().String(), closed: make(chan struct{}, 100)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			k.conns.Add(1)
			wg.Go(func() {
				defer func() {
					c.Close()
					k.closed <- struct{}{}
				}()
				r := bufio.NewReader(c)
				for nth := 1; ; nth++ {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					io.Copy(io.Discard, req.Body)
					k.requests.Add(1)
					if !answer(c, nth) {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return k
}

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// What a receiver's answer makes of its connection. Every attempt is a success,
// and every request is sent once.
func TestConnectionIsUsedAgain(t *testing.T) {
	const attempts = 3
	say := func(s string) func(net.Conn, int) bool {
		return func(c net.Conn, _ int) bool {
			_, err := io.WriteString(c, s)
			return err == nil
		}
	}
	for _, row := range []struct {
		name   string
		answer func(net.Conn, int) bool
		conns  int64
	}{
		{"a length", say(okAnswer), 1},
		{"chunks", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"), 1},
		{"no body", say("HTTP/1.1 204 No Content\r\n\r\n"), 1},
		{"hints before it", say("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + okAnswer), 1},
		{"HTTP/1.0 that keeps alive", say("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"), 1},
		{"HTTP/1.0", say("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"), attempts},
		{"it says close", say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"), attempts},
		{"more than an answer", say(okAnswer + "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"), attempts},
		{"it closes without a word", func(c net.Conn, _ int) bool {
			io.WriteString(c, okAnswer)
			return false
		}, attempts},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := keep(t, row.answer)
			hook := webhook.Must(webhook.Config{AllowPrivate: true})
			defer hook.Close()
			for i := range attempts {
				if r := hook.Send(t.Context(), delivery(k.url)); !r.OK {
					t.Fatalf("attempt %d: %+v", i+1, r)
				}
				if row.conns > 1 {
					<-k.closed
				}
			}
			if k.conns.Load() != row.conns || k.requests.Load() != attempts {
				t.Errorf("%d connections and %d requests, want %d and %d", k.conns.Load(), k.requests.Load(), row.conns, attempts)
			}
		})
	}
}

// A request that a receiver took is not sent again, whatever becomes of the
// answer: the next attempt is the schedule's affair.
func TestRequestIsNotRepeated(t *testing.T) {
	k := keep(t, func(c net.Conn, nth int) bool {
		if nth == 1 {
			io.WriteString(c, okAnswer)
		}
		return nth == 1
	})
	hook := webhook.Must(webhook.Config{AllowPrivate: true})
	defer hook.Close()
	for i, want := range []deliver.Result{
		{OK: true, StatusCode: 200, ResponsePreview: "ok"},
		{Error: "connection closed before an answer"},
		{OK: true, StatusCode: 200, ResponsePreview: "ok"},
	} {
		if r := hook.Send(t.Context(), delivery(k.url)); r != want {
			t.Errorf("attempt %d: %+v, want %+v", i+1, r, want)
		}
	}
	if k.conns.Load() != 2 || k.requests.Load() != 3 {
		t.Errorf("%d connections and %d requests, want 2 and 3", k.conns.Load(), k.requests.Load())
	}
}

// A kept connection that takes nothing of a request is replaced; one that has
// taken some of it is not, since the receiver may have understood it.
func TestKeptConnectionThatBreaks(t *testing.T) {
	for _, row := range []struct {
		name  string
		takes int // bytes of the second request
		want  deliver.Result
		conns int
	}{
		{"nothing was written", 0, deliver.Result{OK: true, StatusCode: 200, ResponsePreview: "ok"}, 2},
		{"some was written", 10, deliver.Result{Error: "connection reset"}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := keep(t, func(c net.Conn, _ int) bool {
				_, err := io.WriteString(c, okAnswer)
				return err == nil
			})
			conns := 0
			g := &netguard.Guard{}
			netguard.SetNet(g, nil, func(ctx context.Context, network, address string) (net.Conn, error) {
				conns++
				c, err := (&net.Dialer{}).DialContext(ctx, network, address)
				if conns == 1 && err == nil {
					c = &breaking{Conn: c, takes: row.takes}
				}
				return c, err
			})
			hook := webhook.NewOn(webhook.Config{AllowPrivate: true}, g, nil)
			defer hook.Close()
			hook.Send(t.Context(), delivery(k.url))
			if r := hook.Send(t.Context(), delivery(k.url)); r != row.want || conns != row.conns {
				t.Errorf("%+v over %d connections, want %+v over %d", r, conns, row.want, row.conns)
			}
		})
	}
}

// breaking is reset in the middle of the second request.
type breaking struct {
	net.Conn
	writes, takes int
}

func (c *breaking) Write(b []byte) (int, error) {
	if c.writes++; c.writes < 2 {
		return c.Conn.Write(b)
	}
	n, _ := c.Conn.Write(b[:c.takes])
	c.Conn.Close()
	return n, syscall.ECONNRESET
}

// An attempt that was cut takes its connection with it, and its answer, should it
// still come, is nobody else's.
func TestCutAttemptLeavesNothing(t *testing.T) {
	asked := make(chan struct{})
	k := keep(t, func(c net.Conn, nth int) bool {
		if nth == 2 {
			close(asked)
			io.Copy(io.Discard, c)
			return false
		}
		_, err := io.WriteString(c, okAnswer)
		return err == nil
	})
	hook := webhook.Must(webhook.Config{AllowPrivate: true})
	defer hook.Close()
	hook.Send(t.Context(), delivery(k.url))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if r, want := hook.Send(ctx, delivery(k.url)), (deliver.Result{Error: "canceled"}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
	if r := hook.Send(t.Context(), delivery(k.url)); !r.OK || k.conns.Load() != 2 {
		t.Errorf("%+v over connection %d, want success over the second", r, k.conns.Load())
	}
}

// endsOnRead is a connection whose attempt is over when it has read.
type endsOnRead struct {
	net.Conn
	end *context.CancelFunc
}

func (c endsOnRead) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	(*c.end)()
	return n, err
}

// An attempt that is answered and ends at once leaves no connection behind whose
// deadline is over, or will be in a moment.
func TestAttemptThatEndsWithItsAnswer(t *testing.T) {
	k := keep(t, func(c net.Conn, _ int) bool {
		_, err := io.WriteString(c, okAnswer)
		return err == nil
	})
	var end context.CancelFunc
	g := new(netguard.Guard)
	netguard.SetNet(g, nil, func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return endsOnRead{c, &end}, err
	})
	hook := webhook.NewOn(webhook.Config{AllowPrivate: true}, g, nil)
	defer hook.Close()
	for i := range int64(3) {
		var ctx context.Context
		ctx, end = context.WithCancel(t.Context())
		if r := hook.Send(ctx, delivery(k.url)); !r.OK || k.conns.Load() != i+1 {
			t.Errorf("attempt %d: %+v over connection %d, want success over its own", i+1, r, k.conns.Load())
		}
		end()
	}
}

// Connections are idle up to a bound in all, whatever number of receivers there
// is, and Close closes them.
func TestIdleConnectionsAreBounded(t *testing.T) {
	const receivers, most = 1100, 1024
	var open atomic.Int64
	var wg sync.WaitGroup
	g := &netguard.Guard{}
	netguard.SetNet(g, nil, func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		open.Add(1)
		wg.Go(func() {
			r := bufio.NewReader(far)
			for {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				io.Copy(io.Discard, req.Body)
				io.WriteString(far, okAnswer)
			}
		})
		return &closing{near, &open}, nil
	})
	hook := webhook.NewOn(webhook.Config{AllowPrivate: true}, g, nil)
	for i := range receivers {
		if r := hook.Send(t.Context(), delivery(fmt.Sprintf("http://10.0.%d.%d/", i/256, i%256))); !r.OK {
			t.Fatalf("%+v", r)
		}
	}
	if n := open.Load(); n != most {
		t.Errorf("%d connections are open, want %d", n, most)
	}
	hook.Close()
	if n := open.Load(); n != 0 {
		t.Errorf("%d connections are open after Close, want none", n)
	}
	wg.Wait()
}

// closing counts down when it is closed.
type closing struct {
	net.Conn
	open *atomic.Int64
}

func (c *closing) Close() error {
	c.open.Add(-1)
	return c.Conn.Close()
}

// Many attempts at once have each their own answer.
func TestAnswersAreNotMixedUp(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Header.Get(deliver.HeaderDeliveryID))
	}))
	defer server.Close()
	hook := webhook.Must(webhook.Config{AllowPrivate: true})
	defer hook.Close()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			d := delivery(server.URL)
			for n := range 50 {
				d.ID = fmt.Sprintf("dlv_%d_%d", i, n)
				if r := hook.Send(t.Context(), d); r.ResponsePreview != d.ID {
					t.Errorf("%s: %+v", d.ID, r)
				}
			}
		})
	}
	wg.Wait()
}

// corked keeps what is written while it is on, to send it at once.
type corked struct {
	net.Conn
	on   bool
	held []byte
}

func (c *corked) Write(b []byte) (int, error) {
	if c.on {
		c.held = append(c.held, b...)
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *corked) flush() {
	c.on = false
	c.Conn.Write(c.held)
	c.held = nil
}
