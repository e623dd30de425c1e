package streamwatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
)

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
