package streamwatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
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
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// A client that resumes where it was has each of thousands of events once, in order,
// over two restarts of the engine on the same file: one while it replays what it
// missed, one while events come in. A third of the events is committed while no
// engine runs. When it is too slow it is closed, and resumes as well.
func TestWebSocketResumesAcrossRestarts(t *testing.T) {
	events := testsize.Of(3000, 5000, 100_000)
	batch := events / 100
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	file := filepath.Join(t.TempDir(), "streams.db")
	src := deliver.Source{Kind: deliver.SourceMonitor, ID: "m1", Owner: "ann", Name: "space"}
	committed := 0
	commit := func(store *sqlite.Store, hub *wshub.Hub, upTo int) {
		for committed < upTo {
			b := &detect.Batch{}
			for range batch {
				committed++
				tweet := fmt.Sprint(committed)
				b.Events = append(b.Events, deliver.Event{ID: deliver.EventID(src.ID, tweet), Source: src, TweetID: tweet, Body: []byte(`{"tweet_id":"` + tweet + `"}`)})
			}
			if err := store.Journal().Commit(ctx, []*detect.Batch{b}); err != nil {
				t.Error(err)
				return
			}
			hub.Publish(b.Events) // as the engine does after a commit of its own
		}
	}

	var address atomic.Value // of the engine that runs
	var last atomic.Uint64   // what the client has
	address.Store("")
	done := make(chan error, 1)
	resumed := 0
	go func() {
		for last.Load() < uint64(events) && ctx.Err() == nil {
			ws, _, err := websocket.Dial(ctx, fmt.Sprint(address.Load(), "?since=", last.Load()), &websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {"ann"}}})
			if err != nil { // nothing runs just now
				<-time.After(time.Millisecond)
				continue
			}
			resumed++
			for last.Load() < uint64(events) {
				_, b, err := ws.Read(ctx)
				if err != nil {
					break
				}
				var f struct {
					Type    string
					Seq     uint64
					TweetID string `json:"tweet_id"`
				}
				if err := json.Unmarshal(b, &f); err != nil || f.Type != "connected" && f.Type != "ping" && (f.Type != "tweet" || f.Seq != last.Load()+1 || f.TweetID != fmt.Sprint(f.Seq)) {
					done <- fmt.Errorf("%s after %d, %v", b, last.Load(), err)
					ws.CloseNow()
					return
				}
				last.Store(max(last.Load(), f.Seq))
			}
			ws.CloseNow()
		}
		done <- ctx.Err()
	}()

	// live is one life of an engine: it begins with what others have committed.
	live := func(before, while int, stopAt uint64) {
		t.Helper()
		store, err := sqlite.Open(ctx, file, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close(context.Background())
		engine, err := streamwatch.New(streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: store,
			WebSocket: &wshub.Options{Authenticate: func(context.Context, secret.Value) (wshub.Identity, error) {
				return wshub.Identity{Owner: "ann", KeyID: "1"}, nil
			}}})
		if err != nil {
			t.Fatal(err)
		}
		commit(store, engine.WebSocket(), before) // no client yet
		if err := engine.Start(ctx); err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(engine.WebSocket())
		address.Store(strings.Replace(srv.URL, "http", "ws", 1))
		commit(store, engine.WebSocket(), while)
		for last.Load() < stopAt && ctx.Err() == nil && len(done) == 0 {
			<-time.After(time.Millisecond)
		}
		address.Store("")
		srv.Close() // takes no more connections; those there are the hub's
		if err := engine.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	}
	tenth := events / 10
	live(3*tenth, 3*tenth, uint64(tenth))   // stopped while the client replays
	live(6*tenth, 8*tenth, uint64(7*tenth)) // while events come in
	live(8*tenth, events, uint64(events))   // to the end
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if last.Load() != uint64(events) || resumed < 3 {
		t.Errorf("the client has %d events after %d connections, want %d and at least 3", last.Load(), resumed, events)
	}
}
