package wshub

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/secret"
)

const (
	authTime   = 5 * time.Second // for the first message, for Authenticate, and for the store at the start
	maxFilters = 100             // values of monitor_id, and of rule_id
	maxID      = 128             // bytes of one of them
)

// ServeHTTP upgrades a request and serves the client until either side leaves.
// What is wrong with the request is answered with the status and a JSON object
// {"error": …, "detail": …}: 400 a malformed query string, 403 another Origin, 422
// a parameter's value, 426 no upgrade, 503 no room or shutting down.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // or a since that can not be read would be none
		answer(w, http.StatusBadRequest, "wshub: malformed query string")
		return
	}
	flt, since, err := parseQuery(values)
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
	c := &conn{h: h, filter: flt, bell: make(chan struct{}, 1), done: make(chan struct{})}
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

	id, ok := h.admit(c, secret.Value(r.Header.Get("x-api-key")))
	if !ok {
		h.refused.Add(1)
		c.farewell()
		return
	}
	c.stream = h.acquire(id.Owner)
	defer h.release(c.stream)
	ctx, cancel := context.WithTimeout(h.ctx, authTime)
	err = c.stream.join(ctx, c, since)
	cancel()
	if err != nil {
		h.trouble("stream not joined", "owner", id.Owner, "error", err)
		c.end(websocket.StatusTryAgainLater, "store unavailable")
		c.farewell()
		return
	}
	defer c.stream.leave(c)
	c.serve(id.KeyID)
}

// parseQuery reads what narrows and resumes a stream. since is nil without.
func parseQuery(q url.Values) (flt filter, since *uint64, err error) {
	flt = filter{monitors: q["monitor_id"], rules: q["rule_id"]}
	for _, f := range []struct {
		name string
		ids  []string
	}{{"monitor_id", flt.monitors}, {"rule_id", flt.rules}} {
		if len(f.ids) > maxFilters {
			return flt, nil, fmt.Errorf("wshub: %s is there %d times: want at most %d", f.name, len(f.ids), maxFilters)
		}
		for _, id := range f.ids {
			if id == "" || len(id) > maxID {
				return flt, nil, fmt.Errorf("wshub: %s %.20q is not allowed: want 1 to %d bytes", f.name, id, maxID)
			}
		}
	}
	if q.Has("since") {
		n, err := strconv.ParseUint(q.Get("since"), 10, 63)
		if err != nil {
			return flt, nil, fmt.Errorf("wshub: since %.20q is not allowed: want the seq of a frame", q.Get("since"))
		}
		since = &n
	}
	return flt, since, nil
}

func answer(w http.ResponseWriter, status int, text string) {
	body, _ := json.Marshal(map[string]string{"error": text, "detail": text})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

// upgrade is the ResponseWriter of an Accept: it keeps the answer to a request
// that is refused, and puts a deadline on every write to the connection.
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
	if err := rw.Flush(); err != nil {
		nc.Close()
		return nil, nil, err
	}
	u.conn = deadlined{nc}
	rw.Writer.Reset(u.conn)
	return u.conn, rw, nil
}

// deadlined gives every write writeTimeout.
type deadlined struct{ net.Conn }

func (c deadlined) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// admit authenticates a connection and counts it; a false one has its reason
// to end.
func (h *Hub) admit(c *conn, key secret.Value) (Identity, bool) {
	if key == "" {
		if !h.waitForKey(1) {
			c.end(websocket.StatusTryAgainLater, "no room for another connection without a key")
			return Identity{}, false
		}
		key = c.firstMessage()
		h.waitForKey(-1)
		if key == "" {
			return Identity{}, false
		}
	}
	for {
		h.mu.Lock()
		seen := h.revoked
		h.mu.Unlock()
		ctx, cancel := context.WithTimeout(h.ctx, authTime)
		id, err := h.opts.Authenticate(ctx, key)
		cancel()
		switch {
		case errors.Is(err, ErrBadKey):
			c.end(codeBadKey, "key not valid")
			return id, false
		case err == nil && id.KeyID == "":
			// Keys of several owners would be counted and revoked as one.
			err = errNoKeyID
		}
		if err != nil {
			h.trouble("key not checked", "error", err)
			c.end(websocket.StatusTryAgainLater, "key not checked")
			return id, false
		}
		if ok, again := h.count(c, id, key, seen); !again {
			return id, ok
		}
	}
}

var errNoKeyID = errors.New("wshub: Authenticate gave an Identity without a KeyID")

// waitForKey counts the connections that wait for their first message, false
// when one more is too many.
func (h *Hub) waitForKey(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n > 0 && h.keyless >= max(1, h.opts.MaxConnections/4) {
		return false
	}
	h.keyless += n
	return true
}

// count adds a connection to those of its key. It has to be authenticated again
// when a key was revoked meanwhile: it could have been this one.
func (h *Hub) count(c *conn, id Identity, key secret.Value, seen int) (ok, again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.revoked != seen:
		return false, true
	case h.closed: // it has its reason
		return false, false
	}
	k := h.keys[id.KeyID]
	if k == nil {
		k = &keyConns{conns: map[*conn]struct{}{}, idle: make(chan struct{})}
		h.keys[id.KeyID] = k
		h.wg.Go(func() { h.recheck(id.KeyID, key, k.idle) })
	}
	if len(k.conns) >= h.opts.MaxPerKey {
		c.end(codeTooMany, "too many connections")
		return false, false
	}
	k.conns[c] = struct{}{}
	c.key = id.KeyID
	return true, false
}

// firstMessage waits for the key, "" without.
func (c *conn) firstMessage() secret.Value {
	c.net.SetReadDeadline(time.Now().Add(authTime))
	b, err := c.message()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.end(codeBadKey, "no key within 5 s")
		return ""
	case err != nil:
		c.end(codeGone, "")
		return ""
	}
	var in struct {
		Type   string       `json:"type"`
		APIKey secret.Value `json:"api_key"`
	}
	if json.Unmarshal(b, &in) != nil || in.Type != "auth" || in.APIKey == "" {
		c.end(codeBadKey, `the first message is not {"type":"auth","api_key":…}`)
		return ""
	}
	return in.APIKey
}

// reserve takes a place for a connection.
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
	c.end(codeGone, "")
	c.killer.Stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	delete(h.conns, c)
	if k := h.keys[c.key]; k != nil {
		if delete(k.conns, c); len(k.conns) == 0 {
			delete(h.keys, c.key)
			close(k.idle)
		}
	}
}

// acquire gives the owner's stream, and starts it for the first connection.
func (h *Hub) acquire(owner string) *stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.streams[owner]
	if s == nil {
		ctx, stop := context.WithCancel(h.ctx)
		s = newStream(h, owner, stop)
		h.streams[owner] = s
		h.wg.Go(func() { s.run(ctx) })
	}
	s.refs++
	return s
}

// release ends the stream with its last connection.
func (h *Hub) release(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.refs--; s.refs == 0 {
		delete(h.streams, s.owner)
		s.stop()
	}
}
