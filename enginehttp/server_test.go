package enginehttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/secret"
)

// serve serves a world on a loopback address until the test ends.
func serve(t *testing.T, w *world, change func(*http.Server)) (addr string, srv *http.Server) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv = enginehttp.NewServer(w.handler)
	if change != nil {
		change(srv)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.Serve(ln)
	}()
	t.Cleanup(func() {
		srv.Close()
		<-done
	})
	return ln.Addr().String(), srv
}

func newClient(t *testing.T) *http.Client {
	tr := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 30 * time.Second}
}

func get(c *http.Client, ctx context.Context, key, url string) (status int, body string, err error) {
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("X-Api-Key", key)
	resp, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// Shutdown of the server waits for requests under way. They are answered and charged.
func TestGracefulStop(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	p := &providers{hook: func(context.Context) error { close(entered); <-leave; return nil }}
	w := newWorld(t, func(s *setup) { s.options.Providers = p.all() })
	addr, srv := serve(t, w, nil)
	type result struct {
		status int
		err    error
	}
	got := make(chan result)
	go func() {
		status, _, err := get(newClient(t), t.Context(), w.key[mine], "http://"+addr+social+"/users/nasa/by_username")
		got <- result{status, err}
	}()
	<-entered
	stopped := make(chan error)
	srv.RegisterOnShutdown(func() { close(leave) }) // the request ends only after the stop has begun
	go func() { stopped <- srv.Shutdown(t.Context()) }()
	if r := <-got; r.status != 200 || r.err != nil {
		t.Errorf("%+v", r)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if spent, _ := w.spent(mine); spent != billing.Credit {
		t.Errorf("charged %d", spent)
	}
}

// A client that leaves while a provider works is not charged, and the provider's
// context ends.
func TestClientGone(t *testing.T) {
	entered, told := make(chan struct{}), make(chan struct{})
	p := &providers{hook: func(ctx context.Context) error {
		close(entered)
		<-ctx.Done()
		close(told)
		return nil // the provider succeeds all the same
	}}
	w := newWorld(t, func(s *setup) { s.options.Providers = p.all() })
	addr, srv := serve(t, w, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	if _, _, err := get(newClient(t), ctx, w.key[mine], "http://"+addr+social+"/users/nasa/by_username"); err == nil {
		t.Error("the client got an answer after it had left")
	}
	<-told
	if err := srv.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if spent, n := w.spent(mine); spent != 0 || n != 0 {
		t.Errorf("charged %d", spent)
	}
}

// A provider that takes longer than the timeout leads to a 502, which costs nothing.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &providers{hook: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		w := newWorld(t, func(s *setup) { s.options.Providers, s.options.Timeout = p.all(), 20*time.Millisecond })
		a := w.do(mine, "GET", social+"/users/nasa/by_username", "")
		if spent, _ := w.spent(mine); a.status != 502 || !strings.Contains(a.body, "did not answer in time") || spent != 0 {
			t.Errorf("%d %s, charged %d", a.status, a.body, spent)
		}
	})
}

// A body that arrives slowly does not hold the request beyond its timeout.
func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 200 * time.Millisecond
		w := newWorld(t, func(s *setup) { s.options.Timeout = timeout })
		client, server := net.Pipe()
		defer client.Close()
		srv := enginehttp.NewServer(w.handler)
		srv.ReadTimeout = 0
		served := make(chan struct{})
		go func() {
			defer close(served)
			srv.Serve(&oneConn{conn: server, closed: make(chan struct{})})
		}()
		defer func() {
			srv.Close()
			<-served
		}()
		began := time.Now()
		fmt.Fprintf(client, "POST %s HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", monitors, w.key[mine])
		client.SetDeadline(began.Add(time.Minute))
		line, err := bufio.NewReader(client).ReadString('\n')
		if took := time.Since(began); err != nil || !strings.Contains(line, " 400 ") || took != timeout {
			t.Errorf("%q, %v after %s: want a 400 after %s", line, err, took, timeout)
		}
	})
}

// oneConn is a listener that accepts one connection.
type oneConn struct {
	conn   net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// Connections that send nothing or only a part of their headers are closed, take
// little memory, and do not keep others from being answered.
func TestSlowClients(t *testing.T) {
	conns := testsize.Of(50, 300, 1000)
	const timeout = 2 * time.Second // also that of those who are not slow
	w := newWorld(t)
	addr, _ := serve(t, w, func(s *http.Server) { s.ReadHeaderTimeout = timeout })
	before := heap()
	var wg sync.WaitGroup
	held := make(chan struct{}, conns)
	for i := range conns {
		wg.Go(func() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				held <- struct{}{}
				return
			}
			defer conn.Close()
			if i%2 == 0 {
				io.WriteString(conn, "GET /v1/account/me HTTP/1.1\r\nHost: x\r\nX-Slow: ")
			}
			held <- struct{}{}
			conn.SetReadDeadline(time.Now().Add(30 * time.Second))
			if _, err := io.ReadAll(conn); err != nil && strings.Contains(err.Error(), "timeout") {
				t.Errorf("a connection was not cut: %v", err)
			}
		})
	}
	for range conns {
		<-held
	}
	client := newClient(t)
	for range 20 {
		if status, body, err := get(client, t.Context(), w.key[mine], "http://"+addr+"/v1/account/me"); status != 200 || err != nil {
			t.Errorf("beside slow clients: %d %s, %v", status, body, err)
		}
	}
	if each := (heap() - before) / int64(conns); each > 64<<10 {
		t.Errorf("a slow connection holds %d bytes", each)
	}
	wg.Wait()
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// A client connects to the WebSocket endpoint with its key, and sees only its owner's
// monitors and rules.
func TestWebSocketThroughTheHandler(t *testing.T) {
	var w *world
	auth := func(ctx context.Context, key secret.Value) (wshub.Identity, error) {
		return enginehttp.WebSocketAuth(w.keys)(ctx, key)
	}
	w = newWorld(t, func(s *setup) { s.engine.WebSocket = &wshub.Options{Authenticate: auth} })
	if err := w.engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	addr, _ := serve(t, w, nil)
	for _, row := range []struct{ key, query, want string }{
		{w.key[mine], "", `{"type":"connected",`},
		{w.key[mine], "?monitor_id={monitor}&rule_id={rule}", `{"type":"connected",`},
		{w.key[mine], "?monitor_id={monitor}&monitor_id={monitor}", `{"type":"connected",`},
		{w.key[mine], "?monitor_id={monitor}&monitor_id={rule}", `{"type":"error","code":4004,"message":"no such monitor: \"rul_`},
		{w.key[mine], "?rule_id={rule}&rule_id={monitor}", `{"type":"error","code":4004,"message":"no such rule: \"mon_`},
		{w.key[theirs], "?monitor_id={monitor}", `{"type":"error","code":4004,"message":"no such monitor: \"mon_`},
		{w.key[theirs], "?rule_id={rule}", `{"type":"error","code":4004,"message":"no such rule: \"rul_`},
		{w.key[mine], "?rule_id={monitor}", `{"type":"error","code":4004,"message":"no such rule: \"mon_`},
		{"sw_live_nonsense", "", `{"type":"error","code":4001,"message":"key not valid"}`},
	} {
		c, _, err := websocket.Dial(t.Context(), "ws://"+addr+social+"/stream"+w.ids[mine].Replace(row.query), &websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {row.key}}})
		if err != nil {
			t.Fatal(err)
		}
		_, frame, err := c.Read(t.Context())
		if err != nil || !strings.HasPrefix(string(frame), row.want) {
			t.Errorf("%s, %v, want %s", frame, err, row.want)
		}
		c.CloseNow()
	}
	if spent, _ := w.spent(mine); spent != 0 {
		t.Errorf("a connection cost %d", spent)
	}
	if err := w.engine.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
