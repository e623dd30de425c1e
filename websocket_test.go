package streamwatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
)

func TestWebSocket(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
	store := newTapped()
	defer store.Close(ctx)
	handled := make(chan string, 10)
	cfg := streamwatch.Config{
		Fetcher: platform, Store: store, MinInterval: 10 * time.Millisecond,
		OnEvent: func(_ context.Context, e deliver.Event) error {
			handled <- e.TweetID
			return nil
		},
		WebSocket: &wshub.Options{Authenticate: func(_ context.Context, key secret.Value) (wshub.Identity, error) {
			return wshub.Identity{Owner: string(key), KeyID: "1"}, nil
		}},
	}
	cfg.Detect.Backoff.Min = 10 * time.Millisecond
	var srv *httptest.Server
	start := func() *streamwatch.Engine {
		engine := newEngine(t, cfg)
		if err := engine.Start(ctx); err != nil {
			t.Fatal(err)
		}
		srv = httptest.NewServer(engine.WebSocket())
		t.Cleanup(srv.Close)
		return engine
	}
	engine := start()
	m, err := engine.Monitors().Create(ctx, monitor.CreateRequest{Owner: "ann", Name: "space", Usernames: []string{"nasa"}, PollInterval: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	connect := func(query string) *websocket.Conn {
		t.Helper()
		ws, _, err := websocket.Dial(ctx, strings.Replace(srv.URL, "http", "ws", 1)+query, &websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {"ann"}}})
		if err != nil {
			t.Fatal(err)
		}
		return ws
	}
	read := func(ws *websocket.Conn, kind, tweet string, seq uint64) {
		t.Helper()
		var f struct {
			Type      string
			Seq       uint64
			TweetID   string `json:"tweet_id"`
			MonitorID string `json:"monitor_id"`
		}
		_, b, err := ws.Read(ctx)
		if err != nil || json.Unmarshal(b, &f) != nil || f.Type != kind || f.Seq != seq || f.TweetID != tweet || tweet != "" && f.MonitorID != m.ID {
			t.Fatalf("%s, %v; want %s %d of %s", b, err, kind, seq, tweet)
		}
	}

	// Nobody is there: no delivery, but an event to resume from.
	first := platform.Post("nasa", "first")
	if got := <-handled; got != first.ID {
		t.Fatal(got)
	}
	// A client is there, and the commit fails twice.
	ws := connect("?monitor_id=" + m.ID)
	read(ws, "connected", "", 1)
	var failures atomic.Int32
	store.on(func(_ context.Context, call string) error {
		if call == "Commit" && failures.Add(1) <= 2 {
			return errors.New("out of order")
		}
		return nil
	})
	second := platform.Post("nasa", "second")
	read(ws, "tweet", second.ID, 2)
	<-handled
	again := connect("?since=0")
	read(again, "connected", "", 0)
	read(again, "tweet", first.ID, 1)
	read(again, "tweet", second.ID, 2)
	st := engine.Stats().WebSocket
	for st.Sent < 3 && ctx.Err() == nil { // a frame is counted once it is written
		<-time.After(time.Millisecond)
		st = engine.Stats().WebSocket
	}
	if st.Connections != 2 || st.Sent != 3 {
		t.Errorf("%+v", st)
	}
	closed := make(chan error, 2)
	for _, ws := range []*websocket.Conn{ws, again} {
		go func() {
			_, _, err := ws.Read(ctx)
			closed <- err
		}()
	}
	if err := engine.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-closed; websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("closed with %v", err)
		}
	}
	// The next engine on the store goes on with the numbers, and a client where it was.
	engine = start()
	again = connect("?since=1")
	read(again, "connected", "", 1)
	read(again, "tweet", second.ID, 2)
	third := platform.Post("nasa", "third")
	read(again, "tweet", third.ID, 3)
	<-handled
	again.CloseNow()
	if err := engine.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	page, err := engine.Log().Deliveries(ctx, deliver.LogQuery{Owner: "ann", Asc: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range page.Entries {
		kind := "handler"
		if wshub.IsDelivery(e.EndpointID) {
			kind = "websocket"
		}
		got = append(got, e.Event.TweetID+" "+kind+" "+string(e.State))
	}
	if want := []string{first.ID + " handler delivered", second.ID + " handler delivered", second.ID + " websocket delivered",
		third.ID + " handler delivered", third.ID + " websocket delivered"}; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the delivery log has %q, want %q", got, want)
	}
}

// A client that connects to one node and then to the other, again and again, has every
// event once and in order, whichever node found it.
func TestFleetWebSocket(t *testing.T) {
	const accounts, posts, between = 20, 300, 10
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		w := newFleetWorld(t, accounts)
		w.tune = func(c *streamwatch.Config) {
			c.MinInterval = 100 * time.Millisecond
			c.WebSocket = &wshub.Options{Authenticate: func(context.Context, secret.Value) (wshub.Identity, error) {
				return wshub.Identity{KeyID: "k"}, nil
			}}
		}
		nodes := w.start("a", "b")
		var clients []*http.Client
		for _, n := range nodes {
			client, end := n.serve()
			defer n.stop()
			defer end()
			clients = append(clients, client)
		}
		pass(10 * time.Second) // they take their parts
		create(t, nodes[0].Engine, monitor.CreateRequest{Name: "m", Usernames: enginetest.AccountNames(accounts), PollInterval: 100 * time.Millisecond})
		posting := make(chan error, 1)
		go func() {
			posting <- w.platform.Run(ctx, enginetest.PostRate{PerSecond: 300, Total: posts})
		}()
		last, connections := uint64(0), 0
		for last < posts && ctx.Err() == nil {
			last = w.follow(ctx, clients[connections%2], last, min(last+between, posts))
			connections++
		}
		if last != posts {
			t.Errorf("the client has %d of %d events", last, posts)
		}
		if connections != posts/between {
			t.Errorf("%d connections, want %d", connections, posts/between)
		}
		if err := <-posting; err != nil {
			t.Error(err)
		}
		for _, n := range nodes {
			if n.Stats().Detect.Events == 0 {
				t.Errorf("%s has found nothing: the test shows nothing", n.name)
			}
		}
	})
}

// follow reads frames that follow one number, until one. It returns the last.
func (w *fleetWorld) follow(ctx context.Context, client *http.Client, last, until uint64) uint64 {
	w.t.Helper()
	ws, _, err := websocket.Dial(ctx, fmt.Sprint("ws://node/?since=", last), &websocket.DialOptions{HTTPClient: client, HTTPHeader: http.Header{"X-Api-Key": {"key"}}})
	if err != nil {
		w.t.Fatal(err)
	}
	defer ws.CloseNow()
	for last < until {
		_, b, err := ws.Read(ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		var f struct {
			Type string
			Seq  uint64
		}
		if err := json.Unmarshal(b, &f); err != nil {
			w.t.Fatal(err)
		}
		if f.Type != "tweet" {
			continue
		}
		if f.Seq != last+1 {
			w.t.Fatalf("event %d follows %d", f.Seq, last)
		}
		last = f.Seq
	}
	return last
}

// serve serves a node's WebSocket until end is called. Every address of the client is the
// node's.
func (n *engine) serve() (client *http.Client, end func()) {
	l := pipe{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: n.WebSocket()}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	return &http.Client{Transport: &http.Transport{DialContext: l.dial, DisableKeepAlives: true}}, func() {
		_ = server.Close()
		<-served
	}
}

// pipe is a listener without a network.
type pipe struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipe) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipe) Close() error { close(p.closed); return nil }

func (p pipe) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
