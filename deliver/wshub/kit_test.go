package wshub_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/secret"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keys: "key-<owner>" is valid, with the id "id-<owner>", unless revoked.
type keys struct {
	mu      sync.Mutex
	revoked map[string]bool
	err     error
	calls   int
}

func (k *keys) authenticate(_ context.Context, key secret.Value) (wshub.Identity, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	owner, ok := strings.CutPrefix(string(key), "key-")
	switch {
	case k.err != nil:
		return wshub.Identity{}, k.err
	case !ok || k.revoked[owner]:
		return wshub.Identity{}, fmt.Errorf("look-up: %w", wshub.ErrBadKey)
	}
	return wshub.Identity{Owner: owner, KeyID: "id-" + owner}, nil
}

func (k *keys) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = err
}

func (k *keys) revoke(owner string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.revoked[owner] = true
}

// world is a hub behind an HTTP server on pipes, in a bubble.
type world struct {
	t     testing.TB
	store *store
	keys  *keys
	hub   *wshub.Hub
	dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	from  string // the address and port that the next connection comes from, "" for a pipe's
}

// inWorld runs f in a bubble; the hub has to end without a trace after it.
func inWorld(t *testing.T, change func(*wshub.Options), f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, change)
		f(t, w)
	})
}

func newWorld(t testing.TB, change func(*wshub.Options)) *world {
	w := &world{t: t, store: newStore(), keys: &keys{revoked: map[string]bool{}}}
	o := wshub.Options{Events: w.store, Authenticate: w.keys.authenticate}
	if change != nil {
		change(&o)
	}
	hub, err := wshub.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.hub = hub
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	w.dial = func(ctx context.Context, network, addr string) (net.Conn, error) { return l.dial(ctx, w.from, addr) }
	srv := &http.Server{Handler: hub}
	served := make(chan struct{})
	go func() {
		defer close(served)
		srv.Serve(l)
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := hub.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		srv.Close()
		<-served
		if st := hub.Stats(); st.Connections != 0 || st.Queued != 0 {
			t.Errorf("left after shutdown: %+v", st)
		}
	})
	return w
}

// pipes is a listener without a network.
type pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (p *pipes) dial(ctx context.Context, addr, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	if addr != "" {
		server = from{server, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))}
	}
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// from is a connection that comes from an address.
type from struct {
	net.Conn
	addr net.Addr
}

func (f from) RemoteAddr() net.Addr { return f.addr }

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// client is the other end.
type client struct {
	t  testing.TB
	ws *websocket.Conn
}

// open connects with ann's key.
func (w *world) open(query string) *client { return w.openAs("ann", query) }

func (w *world) openAs(owner, query string) *client {
	w.t.Helper()
	c, resp, err := w.connect(query, http.Header{"X-Api-Key": {"key-" + owner}})
	if err != nil {
		w.t.Fatalf("connect: %v (%v)", err, resp)
	}
	return c
}

func (w *world) connect(query string, header http.Header) (*client, *http.Response, error) {
	tr := &http.Transport{DialContext: w.dial, DisableKeepAlives: true}
	ws, resp, err := websocket.Dial(context.Background(), "ws://hub.example/v1/social/stream?"+query,
		&websocket.DialOptions{HTTPClient: &http.Client{Transport: tr}, HTTPHeader: header})
	if err != nil {
		return nil, resp, err
	}
	ws.SetReadLimit(1 << 20)
	c := &client{w.t, ws}
	w.t.Cleanup(func() { ws.CloseNow() })
	return c, resp, nil
}

// message is what a text frame holds.
type message struct {
	Type         string          `json:"type"`
	Seq          uint64          `json:"seq"`
	From         uint64          `json:"from_seq"`
	To           uint64          `json:"to_seq"`
	Epoch        uint64          `json:"epoch"`
	Code         int             `json:"code"`
	Message      string          `json:"message"`
	ConnectionID string          `json:"connection_id"`
	KeyID        string          `json:"api_key_id"`
	Timestamp    string          `json:"timestamp"`
	Event        string          `json:"event"`
	MonitorID    string          `json:"monitor_id"`
	RuleID       string          `json:"rule_id"`
	TweetID      string          `json:"tweet_id"`
	TweetData    json.RawMessage `json:"tweet_data"`
	Tweet        json.RawMessage `json:"tweet"`
}

func (m message) String() string {
	switch m.Type {
	case "tweet":
		return fmt.Sprintf("tweet %d", m.Seq)
	case "gap":
		return fmt.Sprintf("gap %d-%d", m.From, m.To) + m.of()
	case "connected":
		return fmt.Sprintf("connected %d", m.Seq) + m.of()
	case "error":
		return fmt.Sprintf("error %d", m.Code)
	}
	return m.Type
}

func (m message) of() string {
	if m.Epoch == 0 {
		return ""
	}
	return fmt.Sprintf(" of %d", m.Epoch)
}

// read gives the next message, or says how the connection was closed.
func (c *client) read() (message, error) {
	_, b, err := c.ws.Read(context.Background())
	if err != nil {
		return message{}, err
	}
	var m message
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("frame %q: %w", b, err)
	}
	return m, nil
}

// readN reads n messages, pings left out.
func (c *client) readN(n int) []string {
	c.t.Helper()
	var got []string
	for pings := 0; len(got) < n; {
		m, err := c.read()
		if m.Type == "ping" {
			pings++
		}
		if err != nil || pings > 10 {
			c.t.Fatalf("after %q: %v", got, err)
		}
		if m.Type != "ping" {
			got = append(got, m.String())
		}
	}
	return got
}

// rest reads until the connection is closed, and how it was. A cut is -1.
func (c *client) rest() (got []string, code websocket.StatusCode, reason string) {
	for pings := 0; ; {
		m, err := c.read()
		var ce websocket.CloseError
		switch {
		case m.Type == "ping":
			if pings++; pings > 10 {
				c.t.Fatalf("after %q it stays open", got)
			}
		case errors.As(err, &ce):
			return got, ce.Code, ce.Reason
		case err != nil:
			return got, -1, err.Error()
		default:
			got = append(got, m.String())
		}
	}
}

func (c *client) wants(want ...string) {
	c.t.Helper()
	if got := c.readN(len(want)); !slices.Equal(got, want) {
		c.t.Fatalf("got %q, want %q", got, want)
	}
}

func (c *client) wantsEnd(code websocket.StatusCode, want ...string) {
	c.t.Helper()
	got, ended, reason := c.rest()
	if ended != code || !slices.Equal(got, want) {
		c.t.Fatalf("got %q and the end %d %q, want %q and %d", got, ended, reason, want, code)
	}
}

func (c *client) write(text string) {
	c.t.Helper()
	if err := c.ws.Write(context.Background(), websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

func tweets(from, to uint64) (want []string) {
	for n := from; n <= to; n++ {
		want = append(want, fmt.Sprintf("tweet %d", n))
	}
	return want
}

func repeat(src deliver.Source, n int) []deliver.Source {
	return slices.Repeat([]deliver.Source{src}, n)
}

var errDown = errors.New("store is down")

type wshubKey = secret.Value

// advance lets virtual time pass.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
