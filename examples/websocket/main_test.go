package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Posts of one poll come in the order in which it found them, so that texts are
// looked for, not lines compared.
func TestEveryPostIsPrintedOnce(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err, out.String())
	}
	for n := 1; n <= posts; n++ {
		if got := strings.Count(out.String(), fmt.Sprintf("  post %d\n", n)); got != 1 {
			t.Errorf("post %d is printed %d times", n, got)
		}
		if got := strings.Count(out.String(), fmt.Sprintf("\n%3d  @nasa", n)); got != 1 {
			t.Errorf("seq %d is printed %d times", n, got)
		}
	}
	for _, want := range []string{"connected, resuming after 0\n", "connected, resuming after 4\n", "12 of 12 posts, each once\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

// A client that is refused says why, and does not try for ever.
func TestWatchIsRefused(t *testing.T) {
	hub, err := wshub.New(wshub.Options{Events: noEvents{}, Authenticate: authenticate})
	if err != nil {
		t.Fatal(err)
	}
	addr, stop, err := serve(hub)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	defer hub.Shutdown(t.Context())
	c := client{url: "ws://" + addr, key: "wrong", out: io.Discard}
	if err := c.watch(t.Context()); websocket.CloseStatus(err) != badKey {
		t.Errorf("error %v, want close code %d", err, badKey)
	}
}

// Watching goes on where the connection was lost, also when nothing had come yet.
func TestWatchResumes(t *testing.T) {
	var all sync.WaitGroup
	for _, row := range []struct{ name, frame, since string }{
		{"after a post", `{"type":"tweet","seq":41}`, "41"},
		{"after a gap", `{"type":"gap","from_seq":41,"to_seq":43}`, "43"},
		{"before the first", `{"type":"ping"}`, "40"},
		{"after a gap that begins an epoch", `{"type":"gap","from_seq":1,"to_seq":20,"epoch":7}`, "7.20"},
	} {
		all.Go(func() { // each waits a second before it connects again
			t.Run(row.name, func(t *testing.T) { testResume(t, row.frame, row.since) })
		})
	}
	all.Wait()
}

func testResume(t *testing.T, frame, since string) {
	asked := make(chan string, 3)
	ctx, cancel := context.WithCancel(t.Context())
	addr, stop, err := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Query().Get("since")
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer ws.CloseNow()
		ws.Write(ctx, websocket.MessageText, []byte(`{"type":"connected","seq":40}`))
		if len(asked) == 1 {
			ws.Write(ctx, websocket.MessageText, []byte(frame))
			return // the line breaks
		}
		cancel()
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	var out bytes.Buffer
	c := client{url: "ws://" + addr, out: &out}
	if err := c.watch(ctx); err != nil {
		t.Errorf("%v, want nil after the end of the context", err)
	}
	if first, second := <-asked, <-asked; first != "" || second != since {
		t.Errorf("since was %q, then %q: want none, then %s\n%s", first, second, since, out.String())
	}
}

type noEvents struct{}

func (noEvents) Epoch(context.Context) (uint64, error) { return 0, nil }

func (noEvents) Events(context.Context, string, uint64, int) ([]deliver.Event, error) {
	return nil, nil
}
