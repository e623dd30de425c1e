package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
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
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// What an owner has alone is gone after Erase, cursors included, and other owners miss nothing. An
// Erase that fails is made again. While it runs and for an hour after it nothing is made for the
// owner; then the name is free, and its numbers go on, so a WebSocket client of before misses nothing.
func TestErase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := platformOf("nasa", "esa", "jaxa"), newTapped()
		var in inbox
		e := running(t, streamwatch.Config{Fetcher: p, Store: store, OnEvent: in.handle})
		watch := monitor.CreateRequest{Owner: owner, Name: "m", Usernames: []string{"nasa", "esa"}, PollInterval: time.Second}
		create(t, e, watch)
		createRule(t, e, rule.CreateRequest{Owner: owner, Tag: "r", Query: "words", Interval: time.Second})
		stays := create(t, e, monitor.CreateRequest{Owner: "stays", Name: "m", Usernames: []string{"esa", "jaxa"}, PollInterval: time.Second})
		post := func(text string) {
			pass(3 * time.Second)
			p.Post("nasa", text)
			p.Post("esa", text)
			pass(3 * time.Second)
		}
		post("one")
		cut := errors.New("cut short")
		store.failing(cut, "Sweep")
		if _, err := e.Erase(t.Context(), owner); !errors.Is(err, cut) {
			t.Fatalf("error = %v, want that of the store", err)
		}
		other := watch
		store.on(func(_ context.Context, call string) error {
			if call == "Sweep" {
				store.on(nil)
				_, err := e.Monitors().Create(t.Context(), watch)
				if !errors.Is(err, streamwatch.ErrErasing) {
					t.Errorf("a creation during Erase: %v, want ErrErasing", err)
				}
				other.Owner = "globex"
				create(t, e, other)
			}
			return nil
		})
		r, err := e.Erase(t.Context(), owner)
		if want := (storage.Erased{Monitors: 1, Rules: 1, Events: 2, Deliveries: 2, Cursors: 2, Changes: 2, Attempts: 2}); err != nil || r != want {
			t.Errorf("report %+v, %v; want %+v", r, err, want)
		}
		if again, err := e.Erase(t.Context(), owner); err != nil || again != (storage.Erased{}) {
			t.Errorf("once more: %+v, %v, want that there is nothing", again, err)
		}
		if _, err := e.Monitors().Create(t.Context(), watch); !errors.Is(err, streamwatch.ErrErasing) {
			t.Errorf("a creation after Erase: %v, want ErrErasing", err)
		}
		if s := e.Stats().Detect; s.Targets != 3 || s.Queries.Targets != 0 {
			t.Errorf("%d accounts and %d queries are polled, want 3 and none", s.Targets, s.Queries.Targets)
		}
		post("two")
		in.wants(t, "who stays", stays.ID, "one", "two")
		pass(time.Hour)
		create(t, e, watch)
		post("three")
		evs, err := e.Log().Events(t.Context(), owner, 2, 10) // as a client with since=2
		if err != nil || len(evs) != 2 || evs[0].Seq != 3 || !strings.Contains(evs[0].TextPreview, "three") {
			t.Errorf("%+v after number 2, %v, want the new ones, from number 3", evs, err)
		}
	})
}

func TestEraseNeedsASweeper(t *testing.T) {
	e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: noSweeper{memory.New(memory.Options{})}})
	if _, err := e.Erase(t.Context(), "acme"); !errors.Is(err, streamwatch.ErrNoSweeper) {
		t.Errorf("error = %v, want ErrNoSweeper", err)
	}
}

type noSweeper struct{ storage.Store }

func (s noSweeper) Ports() storage.Ports {
	p := s.Store.Ports()
	p.Sweeper = nil
	return p
}

// forgetting is a fleet with an owner who goes, and one who stays.
type forgetting struct {
	*fleetWorld
	gone []string // accounts that only the one who goes watches
	keys *apikey.Manager
	mu   sync.Mutex
	sent map[string]int // attempts at the endpoints of who goes, by node
}

func newForgetting(t *testing.T) *forgetting {
	w := &forgetting{fleetWorld: newFleetWorld(t, 60), gone: enginetest.AccountNames(30), sent: map[string]int{}}
	keys, err := apikey.NewManager(apikey.Config{Records: w.store.Ports().Records})
	if err != nil {
		t.Fatal(err)
	}
	w.keys = keys
	w.tune = func(c *streamwatch.Config) {
		c.Roles.Search = w.platform
		rest, by := c.Webhook.Transport, c.Fleet.Name
		c.Webhook.Transport = roundTripFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != "gone.example.com" {
				return rest.RoundTrip(r)
			}
			w.mu.Lock()
			w.sent[by]++
			code := []int{200, 503}[w.sent[by]%2] // every other is tried again
			w.mu.Unlock()
			<-time.After(700 * time.Millisecond) // attempts are under way all the time
			return &http.Response{StatusCode: code, Header: http.Header{}, Body: http.NoBody}, nil
		})
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

// furnish gives both owners monitors with webhooks, through both nodes, and the one who goes rules
// and an answer. It returns how many webhooks that one has.
func (w *forgetting) furnish(nodes []*engine) (webhooks int) {
	w.t.Helper()
	for i, group := range slices.Collect(slices.Chunk(enginetest.AccountNames(60), 5)) {
		n := nodes[i%2]
		r := monitor.CreateRequest{Owner: "stays", Name: fmt.Sprint("m", i), Usernames: group, PollInterval: w.interval,
			WebhookURL: fmt.Sprint("https://hooks.example.com/", i), WebhookSecret: w.key}
		if i >= 6 {
			m := create(w.t, n.Engine, r)
			w.watches = append(w.watches, check.Watch{MonitorID: m.ID, Accounts: group, Since: m.CreatedAt})
		}
		if i < 8 { // two of them are about accounts that the other watches, too
			r.Owner, r.WebhookURL = owner, fmt.Sprint("https://gone.example.com/", i)
			m := create(w.t, n.Engine, r)
			for j := range 2 { // random ids decide which node sends: so many leave neither without one
				ep := endpoints.NewEndpoint{Source: deliver.Source{Kind: deliver.SourceMonitor, ID: m.ID, Owner: owner}, URL: fmt.Sprintf("https://gone.example.com/more/%d/%d", i, j)}
				ok(w.t, second(n.Endpoints().Create(w.t.Context(), ep)))
			}
			webhooks += 3
		}
	}
	for i, n := range nodes {
		createRule(w.t, n.Engine, rule.CreateRequest{Owner: owner, Tag: fmt.Sprint("r", i), Query: fmt.Sprint("post ", i), Interval: w.interval, WebhookURL: "https://gone.example.com/r"})
		webhooks++
	}
	return webhooks
}

// work is what a node has done for the owner who goes: polls, and attempts.
func (w *forgetting) work(node string) (polls, attempts int) {
	polls = w.pollsBy(node, w.gone...)
	w.mu.Lock()
	defer w.mu.Unlock()
	return polls, w.sent[node]
}

// nothing fails the test if the store has anything of the owner who goes.
func (w *forgetting) nothing(when string) {
	w.t.Helper()
	targets := []string{detect.QueryTarget("post 0"), detect.QueryTarget("post 1")}
	for _, name := range w.gone {
		targets = append(targets, detect.AccountTarget(name))
	}
	left, err := w.store.Sweep(w.t.Context(), owner, targets...)
	if err != nil || left != (storage.Erased{}) {
		w.t.Errorf("%s the store has of the owner %+v, %v", when, left, err)
	}
}

// ask has a node make monitors for the owner who goes, ten a second for 4 s. It returns how many were
// made; the others have to be told that the owner is erased.
func (w *forgetting) ask(n *engine) (made chan int) {
	made = make(chan int, 1)
	go func() {
		count := 0
		for i := range 40 {
			_, err := aMonitor.create(w.t.Context(), n.Engine, fmt.Sprint("asked ", i), w.gone[0], fmt.Sprint("https://gone.example.com/asked/", i))
			if err == nil {
				count++
			} else if !errors.Is(err, streamwatch.ErrErasing) {
				w.t.Errorf("a request was refused with %v, want ErrErasing", err)
			}
			<-time.After(100 * time.Millisecond)
		}
		made <- count
	}()
	return made
}

// An owner is erased through one node while both work for it: when Erase has returned, no node brings
// anything of the owner back, and who stays loses nothing.
func TestFleetErases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newForgetting(t)
		nodes := w.start("a", "b")
		a, b := nodes[0], nodes[1]
		pass(10 * time.Second) // they take their parts
		webhooks := w.furnish(nodes)
		key, err := w.keys.Issue(t.Context(), apikey.IssueRequest{Owner: owner, Name: "k"})
		if err != nil {
			t.Fatal(err)
		}
		client, end := b.serve()
		defer end()
		ws, _, err := websocket.Dial(t.Context(), "ws://node/", &websocket.DialOptions{HTTPClient: client, HTTPHeader: http.Header{"X-Api-Key": {string(key.Secret)}}})
		if err != nil {
			t.Fatal(err)
		}
		defer ws.CloseNow()
		ended := make(chan error, 1)
		go func() {
			for {
				if _, _, err := ws.Read(context.Background()); err != nil {
					ended <- err
					return
				}
			}
		}()
		posting := make(chan error, 1)
		go func() { posting <- w.platform.Run(t.Context(), enginetest.PostRate{PerSecond: 20, Total: 1600}) }()
		w.platform.SetSuspended(w.gone[0], true)
		pass(20 * time.Second)
		for _, n := range nodes {
			if polls, attempts := w.work(n.name); polls == 0 || attempts == 0 {
				t.Errorf("%s has made %d polls and %d attempts for the owner: the test shows nothing", n.name, polls, attempts)
			}
		}
		stored := make(chan struct{})
		time.AfterFunc(time.Second, func() { b.stalled.Store(&stored) }) // commits are under way while Erase is
		time.AfterFunc(3*time.Second, func() {
			b.stalled.Store(nil)
			close(stored)
		})
		asked := w.ask(b)
		pass(550 * time.Millisecond)
		r, err := a.Erase(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		polls, attempts := 0, 0
		work := func(sign int) {
			for _, n := range nodes {
				p, s := w.work(n.name)
				polls, attempts = polls+sign*p, attempts+sign*s
			}
		}
		work(-1)
		made := <-asked
		if made == 0 || r.Monitors != 8+made || r.Endpoints != webhooks+made || r.Rules != 2 || r.Keys != 1 || r.Events == 0 || r.Cursors == 0 {
			t.Errorf("%d requests have made something, report %+v", made, r)
		}
		w.nothing("when Erase has returned")
		pass(5 * time.Second)
		w.nothing("5s after Erase")
		select {
		case err := <-ended:
			if !strings.Contains(err.Error(), "4001") {
				t.Errorf("the owner's WebSocket ended with %v", err)
			}
		default:
			t.Error("the owner's WebSocket is open 5s after Erase")
		}
		w.platform.SetSuspended(w.gone[0], false)
		pass(3 * time.Minute)
		w.nothing("3m after Erase")
		if work(1); polls > 0 || attempts > 0 {
			t.Errorf("%d polls and %d attempts for the owner after Erase", polls, attempts)
		}
		ok(t, <-posting)
		for _, n := range nodes {
			n.stop()
		}
		w.nothing("when all have stopped")
		w.check()
	})
}
