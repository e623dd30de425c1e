package fakeserver

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/fetcher"
)

const (
	maxQueue  = 10_000           // events queued for a client; the connection is cut if there are more
	maxClient = 100              // streams at once
	pingEvery = 15 * time.Second // Mastodon pings, too
	writeFor  = 10 * time.Second
)

// client is one stream.
type client struct {
	events chan []byte
	cut    context.CancelFunc
}

// status is the API's entity Status, as far as streams need it.
type status struct {
	ID         string  `json:"id"`
	CreatedAt  string  `json:"created_at"`
	Visibility string  `json:"visibility"`
	URL        string  `json:"url"`
	URI        string  `json:"uri"`
	Content    string  `json:"content"`
	Account    account `json:"account"`
}

// push sends a post to all clients. The caller holds the lock.
func (s *Server) push(index int, t *fetcher.Tweet) {
	if len(s.clients) == 0 {
		return
	}
	payload, err := json.Marshal(status{
		ID: t.ID, CreatedAt: t.PublishedAt.UTC().Format("2006-01-02T15:04:05.000Z"), Visibility: "public", URL: t.Permalink, URI: t.Permalink,
		Content: "<p>" + html.EscapeString(t.Text) + "</p>", Account: account{accountID(index), s.names[index], s.names[index], s.counts[index]},
	})
	if err != nil {
		return // strings and numbers always encode
	}
	event, err := json.Marshal(map[string]any{"stream": []string{"user"}, "event": "update", "payload": string(payload)})
	if err != nil {
		return
	}
	for c := range s.clients {
		select {
		case c.events <- event:
		default:
			c.cut()
		}
	}
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Query().Get("stream") {
	case "user", "public", "public:local":
	default:
		refuse(w, http.StatusBadRequest, "stream: want user, public or public:local")
		return
	}
	// Register the client before answering, so that it gets every post after its connection is
	// accepted.
	ctx, cut := context.WithCancel(r.Context())
	defer cut()
	c := &client{make(chan []byte, maxQueue), cut}
	if !s.join(c) {
		refuse(w, http.StatusServiceUnavailable, "too many streams")
		return
	}
	defer s.leave(c)
	// Everybody may read the fake platform, including pages in a browser.
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has answered
	}
	defer ws.CloseNow()
	ctx = ws.CloseRead(ctx)
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-ping.C:
			err = within(ctx, ws.Ping)
		case event := <-c.events:
			err = within(ctx, func(ctx context.Context) error { return ws.Write(ctx, websocket.MessageText, event) })
		}
		if err != nil {
			return
		}
	}
}

func within(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, writeFor)
	defer cancel()
	return f(ctx)
}

func (s *Server) join(c *client) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.clients) == maxClient {
		return false
	}
	s.clients[c] = true
	s.streams.Add(1)
	return true
}

func (s *Server) leave(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
	s.streams.Done()
}

// Close ends all streams and waits for them. http.Server.Close does not end them.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.clients {
		c.cut()
	}
	s.mu.Unlock()
	s.streams.Wait()
}
