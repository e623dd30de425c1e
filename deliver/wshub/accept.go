package wshub

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/streamwatch/streamwatch/internal/batch"
	"github.com/streamwatch/streamwatch/secret"
)

// authTime bounds each step of the setup: the first message, Authenticate, and the store reads.
const authTime = 5 * time.Second

// ServeHTTP upgrades a request and serves the client until either side closes the connection.
// It answers a refused request with a status and a JSON object {"error": …, "detail": …}: 400 for
// a malformed query string, 403 for an Origin that is not allowed, 422 for a parameter with a bad
// value, 426 for a request without an upgrade, 503 if there is no room or the hub shuts down.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // r.URL.Query would ignore a since that cannot be parsed
		answer(w, http.StatusBadRequest, "wshub: malformed query string")
		return
	}
	flt, from, err := parseQuery(values)
	if err != nil {
		answer(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	if !h.reserve() {
		h.refused.Add(1)
		w.Header().Set("Retry-After", "1")
		answer(w, http.StatusServiceUnavailable, "wshub: no room for another connection")
		return
	}
	defer h.wg.Done()
	c := &conn{h: h, filter: flt, bell: batch.NewBell(), done: make(chan struct{})}
	u := &upgrade{ResponseWriter: w}
	c.ws, err = websocket.Accept(u, r, &websocket.AcceptOptions{
		OriginPatterns: h.opts.Origins,
		OnPingReceived: func(context.Context, []byte) bool { return c.heard() },
		OnPongReceived: func(context.Context, []byte) { c.heard() },
	})
	if err != nil {
		h.unreserve()
		answer(w, u.status, strings.TrimSpace(string(u.text)))
		return
	}
	c.net = u.conn
	c.ws.SetReadLimit(maxMessage)
	h.register(c)
	defer h.remove(c)

	id, ok := h.admit(c, secret.Value(r.Header.Get("x-api-key")), addressOf(r))
	if !ok {
		h.refused.Add(1)
		c.farewell()
		return
	}
	c.stream = h.acquire(id.Owner)
	defer h.release(c.stream)
	ctx, cancel := context.WithTimeout(h.ctx, authTime)
	unknown, err := h.unknown(ctx, id.Owner, &c.filter)
	if err == nil && unknown == "" {
		err = c.stream.join(ctx, c, from)
	}
	cancel()
	if unknown != "" {
		h.refused.Add(1)
		c.end(codeUnknown, unknown)
		c.farewell()
		return
	}
	if err != nil {
		h.logError("cannot join stream", "owner", id.Owner, "error", err)
		c.end(websocket.StatusTryAgainLater, "store unavailable")
		c.farewell()
		return
	}
	defer c.stream.leave(c)
	c.serve(id.KeyID)
}

func answer(w http.ResponseWriter, status int, text string) {
	body, _ := json.Marshal(map[string]string{"error": text, "detail": text})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

// upgrade is the ResponseWriter for websocket.Accept. It keeps the answer to a refused request
// for ServeHTTP to write as JSON, and sets a deadline for every write to the connection.
type upgrade struct {
	http.ResponseWriter
	conn   net.Conn
	status int
	text   []byte
}

func (u *upgrade) WriteHeader(status int) {
	if status == http.StatusSwitchingProtocols {
		u.ResponseWriter.WriteHeader(status)
		return
	}
	u.status = status
}

func (u *upgrade) Write(b []byte) (int, error) {
	u.text = append(u.text, b...)
	return len(b), nil
}

func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	nc, rw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	rw.Flush() // an error comes again with the next write
	u.conn = deadlined{nc}
	rw.Writer.Reset(u.conn)
	return u.conn, rw, nil
}

// deadlined gives every write writeTimeout.
type deadlined struct{ net.Conn }

func (c deadlined) Write(b []byte) (int, error) {
	c.SetWriteDeadline(time.Now().Add(writeTimeout)) // fails if the write does
	return c.Conn.Write(b)
}

// reserve counts a new connection, if there is room.
func (h *Hub) reserve() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.open >= h.opts.MaxConnections {
		return false
	}
	h.open++
	h.wg.Add(1)
	return true
}

func (h *Hub) unreserve() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
}

func (h *Hub) register(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns[c] = struct{}{}
	if h.closed {
		c.end(codeGoingAway, "server going away")
	}
}

func (h *Hub) remove(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	delete(h.conns, c)
	if k := h.keys[c.id.KeyID]; k != nil {
		if delete(k.conns, c); len(k.conns) == 0 {
			delete(h.keys, c.id.KeyID)
			close(k.idle)
		}
		if h.owners[c.id.Owner]--; h.owners[c.id.Owner] == 0 {
			delete(h.owners, c.id.Owner)
		}
	}
}

// acquire returns the owner's stream, and starts it for the first connection.
func (h *Hub) acquire(owner string) *stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.streams[owner]
	if s == nil {
		ctx, stop := context.WithCancel(h.ctx)
		s = newStream(h, owner, h.epoch, stop)
		h.streams[owner] = s
		h.wg.Go(func() { s.run(ctx) })
	}
	s.refs++
	return s
}

// release gives up a connection's use of the stream. The last one stops the stream.
func (h *Hub) release(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.refs--; s.refs == 0 {
		delete(h.streams, s.owner)
		s.stop()
	}
}
