package streamwatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// failing is a store whose next Commit fails as often as it is told to.
type failing struct {
	storage.Store
	commits atomic.Int32
}

func (f *failing) Ports() storage.Ports {
	p := f.Store.Ports()
	p.Journal = failingJournal{p.Journal, f}
	return p
}

type failingJournal struct {
	detect.Journal
	f *failing
}

func (j failingJournal) Commit(ctx context.Context, batches []*detect.Batch) error {
	if j.f.commits.Add(-1) >= 0 {
		return errors.New("out of order")
	}
	return j.Journal.Commit(ctx, batches)
}

func TestWebSocket(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
	store := &failing{Store: memory.New(memory.Options{})}
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
	store.commits.Store(2)
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

func TestWithoutWebSocket(t *testing.T) {
	engine, err := streamwatch.New(streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{})})
	if err != nil || engine.WebSocket() != nil {
		t.Error(err)
	}
	_, err = streamwatch.New(streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), WebSocket: &wshub.Options{}})
	if err == nil || !strings.Contains(err.Error(), "wshub: Authenticate is missing") {
		t.Error(err)
	}
}
