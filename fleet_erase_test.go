package streamwatch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/enginetest/check"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage"
)

// forgetting is a fleet with an owner who goes, and one who stays.
type forgetting struct {
	*fleetWorld
	names, gone []string                   // all accounts, and those that only the one who goes watches
	monitor     string                     // one of who goes
	keys        map[string]*apikey.Manager // by node
	mu          sync.Mutex
	sent        map[string]int // attempts at the endpoints of who goes, by node
}

const (
	goes  = "gone-customer"
	stays = "stays"

	// Random ids decide which node sends to an endpoint: so many more leave neither without one.
	moreEndpoints = 14
)

func newForgetting(t *testing.T) *forgetting {
	w := &forgetting{fleetWorld: newFleetWorld(t, 60), names: enginetest.AccountNames(60), sent: map[string]int{}, keys: map[string]*apikey.Manager{}}
	w.gone = w.names[:30]
	w.tune = func(c *streamwatch.Config) {
		c.Roles = fetcher.Roles{Search: w.platform}
		rest, by := c.Webhook.Transport, c.Fleet.Name
		c.Webhook.Transport = roundTripFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != "gone.example.com" {
				return rest.RoundTrip(r)
			}
			body, err := io.ReadAll(r.Body)
			if err != nil || len(body) == 0 {
				return nil, errors.Join(err, errors.New("no body"))
			}
			w.mu.Lock()
			w.sent[by]++
			w.mu.Unlock()
			<-time.After(700 * time.Millisecond) // attempts are under way all the time
			code := 200
			if bytes.Contains(body, []byte("7")) {
				code = 503 // is tried again
			}
			return &http.Response{StatusCode: code, Header: http.Header{}, Body: http.NoBody}, nil
		})
		keys, err := apikey.NewManager(apikey.Config{Records: w.store.Ports().Records})
		if err != nil {
			t.Fatal(err)
		}
		w.keys[by] = keys
		c.WebSocket = &wshub.Options{Authenticate: func(ctx context.Context, key secret.Value) (wshub.Identity, error) {
			p, err := keys.Authenticate(ctx, key)
			if err != nil {
				return wshub.Identity{}, fmt.Errorf("%w: %w", wshub.ErrBadKey, err)
			}
			return wshub.Identity{Owner: p.Owner, KeyID: p.KeyID}, nil
		}}
	}
	return w
}

// furnish gives both owners what they can have, through both nodes, and returns the key of
// the one who goes.
func (w *forgetting) furnish(nodes []*engine) secret.Value {
	w.t.Helper()
	for i, group := range slices.Collect(slices.Chunk(w.names, 5)) {
		r := monitor.CreateRequest{Owner: stays, Name: fmt.Sprint("m", i), Usernames: group, PollInterval: w.interval,
			WebhookURL: fmt.Sprint("https://hooks.example.com/", i), WebhookSecret: w.key}
		if i >= 6 {
			m := create(w.t, nodes[i%2].Engine, r)
			w.watches = append(w.watches, check.Watch{MonitorID: m.ID, Accounts: group, Since: m.CreatedAt})
		}
		if i < 8 { // two of them are about accounts that the other watches, too
			r.Owner, r.WebhookURL = goes, fmt.Sprint("https://gone.example.com/", i)
			w.monitor = create(w.t, nodes[i%2].Engine, r).ID
		}
	}
	for i := range moreEndpoints {
		r := endpoints.NewEndpoint{Source: deliver.Source{Kind: deliver.SourceMonitor, ID: w.monitor, Owner: goes}, URL: fmt.Sprint("https://gone.example.com/more/", i)}
		if _, err := nodes[i%2].Endpoints().Create(w.t.Context(), r); err != nil {
			w.t.Fatal(err)
		}
	}
	for i, n := range nodes {
		_, err := n.Rules().Create(w.t.Context(), rule.CreateRequest{Owner: goes, Tag: fmt.Sprint("r", i), Query: fmt.Sprint("post ", i), Interval: w.interval, WebhookURL: "https://gone.example.com/r"})
		if err != nil {
			w.t.Fatal(err)
		}
		name := record.Name{Space: "answer", Owner: goes, ID: fmt.Sprint("q", i)}
		if _, err := n.State().Swap(w.t.Context(), name, 0, []byte("an answer"), time.Hour); err != nil {
			w.t.Fatal(err)
		}
	}
	key, err := w.keys["a"].Issue(w.t.Context(), apikey.IssueRequest{Owner: goes, Name: "k"})
	if err != nil {
		w.t.Fatal(err)
	}
	return key.Secret
}

// ask has a node make monitors for the owner who goes, as requests with its key do, ten a
// second until the key is refused. It returns how many were let in, when all have ended, and
// how many made their monitor; the others have to be told that the owner is erased.
func (w *forgetting) ask(n *engine, key secret.Value) (ended chan [2]int) {
	ended = make(chan [2]int, 1)
	var all sync.WaitGroup
	var made atomic.Int64
	go func() {
		for i := 0; ; i++ {
			if _, err := w.keys[n.name].Authenticate(w.t.Context(), key); err != nil {
				all.Wait()
				ended <- [2]int{i, int(made.Load())}
				return
			}
			all.Go(func() {
				_, err := n.Monitors().Create(w.t.Context(), monitor.CreateRequest{Owner: goes, Name: fmt.Sprint("asked ", i), Usernames: w.gone[:5], PollInterval: w.interval,
					WebhookURL: fmt.Sprint("https://gone.example.com/asked/", i), WebhookSecret: w.key})
				switch {
				case err == nil:
					made.Add(1)
				case !errors.Is(err, streamwatch.ErrErasing):
					w.t.Errorf("a request was refused with %v, want ErrErasing", err)
				}
			})
			<-time.After(100 * time.Millisecond)
		}
	}()
	return ended
}

// targets are the cursors that only the owner who goes has.
func (w *forgetting) targets() (all []string) {
	for _, name := range w.gone {
		all = append(all, detect.AccountTarget(name))
	}
	return append(all, detect.QueryTarget("post 0"), detect.QueryTarget("post 1"))
}

// attempts are those at the endpoints of the owner who goes.
func (w *forgetting) attempts(node string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent[node]
}

// pollsBy are a node's polls of the accounts that only the owner who goes watches.
func (w *forgetting) pollsBy(node string) (n int) {
	for _, name := range w.gone {
		for _, p := range w.pollsOf(name) {
			if p.by == node {
				n++
			}
		}
	}
	return n
}

// connect opens a WebSocket to a node, and returns a channel that has how it ended.
func (w *forgetting) connect(n *engine, key secret.Value) (ended chan error, end func()) {
	w.t.Helper()
	client, closeServer := n.serve()
	ws, _, err := websocket.Dial(w.t.Context(), "ws://node/", &websocket.DialOptions{HTTPClient: client, HTTPHeader: http.Header{"X-Api-Key": {string(key)}}})
	if err != nil {
		w.t.Fatal(err)
	}
	ended = make(chan error, 1)
	go func() {
		for {
			if _, _, err := ws.Read(context.Background()); err != nil {
				ended <- err
				return
			}
		}
	}()
	return ended, func() {
		_ = ws.CloseNow()
		closeServer()
	}
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

func (p pipe) Close() error   { close(p.closed); return nil }
func (p pipe) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// An owner is erased through one node while both work for it: when Erase has returned, no
// node brings anything of the owner back, and who stays loses nothing.
func TestFleetErases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newForgetting(t)
		nodes := w.start("a", "b")
		a, b := nodes[0], nodes[1]
		pass(10 * time.Second) // they take their parts
		key := w.furnish(nodes)
		ended, end := w.connect(b, key)
		defer end()
		posting := make(chan error, 1)
		go func() {
			posting <- w.platform.Run(t.Context(), enginetest.PostRate{PerSecond: 20, Total: 1600})
		}()
		for _, name := range w.gone[:4] {
			w.platform.SetSuspended(name, true)
		}
		pass(20 * time.Second)
		underWay := record.Name{Space: "answer", Owner: goes, ID: "under way"}
		version, err := b.State().Swap(t.Context(), underWay, 0, []byte("begun"), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			if w.pollsBy(n.name) == 0 || w.attempts(n.name) == 0 {
				t.Errorf("%s has made %d polls and %d attempts for the owner: the test shows nothing", n.name, w.pollsBy(n.name), w.attempts(n.name))
			}
		}
		stored := make(chan struct{})
		time.AfterFunc(time.Second, func() { b.store.stalled.Store(&stored) }) // commits are under way while Erase is
		time.AfterFunc(3*time.Second, func() {
			b.store.stalled.Store(nil)
			close(stored)
		})
		let := w.ask(b, key)
		pass(500 * time.Millisecond)
		r, err := a.Erase(t.Context(), goes)
		if err != nil {
			t.Fatal(err)
		}
		polls, attempts := w.pollsBy("a")+w.pollsBy("b"), w.attempts("a")+w.attempts("b")
		asked := <-let
		most, made := asked[0], asked[1]
		if r.Monitors < 8+made || r.Monitors > 8+most || r.Endpoints < 10+moreEndpoints+made || r.Endpoints > 10+moreEndpoints+most || most < 8 ||
			r.Rules != 2 || r.Keys != 1 || r.Answers != 3 || r.Events == 0 || r.Cursors == 0 {
			t.Errorf("%d requests were let in, %d have made something, report %+v", most, made, r)
		}
		nothing := func(when string) {
			t.Helper()
			left, err := w.store.Sweep(t.Context(), goes, w.targets()...)
			if err != nil || left != (storage.Erased{}) {
				t.Errorf("%s the store has of the owner %+v, %v", when, left, err)
			}
		}
		nothing("when Erase has returned")
		if _, err := b.State().Swap(t.Context(), underWay, version, []byte("late"), time.Hour); !errors.Is(err, record.ErrGone) {
			t.Errorf("an answer that comes after Erase: %v, want record.ErrGone", err)
		}
		b.Monitors().Report(goes, w.monitor, w.gone[0], errors.New("late"))
		pass(5 * time.Second)
		nothing("5s after Erase")
		select {
		case err := <-ended:
			if !strings.Contains(err.Error(), "4001") {
				t.Errorf("the owner's WebSocket ended with %v", err)
			}
		default:
			t.Error("the owner's WebSocket is open 5s after Erase")
		}
		for _, name := range w.gone[:4] {
			w.platform.SetSuspended(name, false)
		}
		pass(3 * time.Minute)
		nothing("3m after Erase")
		if n := w.pollsBy("a") + w.pollsBy("b") - polls; n > 0 {
			t.Errorf("%d polls of the owner's accounts after Erase", n)
		}
		if n := w.attempts("a") + w.attempts("b") - attempts; n > 0 {
			t.Errorf("%d attempts at the owner's endpoints after Erase", n)
		}
		if err := <-posting; err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			n.stop()
		}
		nothing("when all have stopped")
		w.check()
	})
}
