package engineui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/figure"
)

// Limits of the live tail.
const (
	tailKept     = 200 // number of events kept in memory; a page shows tailShown of them
	tailShown    = 25
	tailQueue    = 64  // maximum number of events that wait for a client; then the oldest are dropped
	tailClients  = 100 // maximum number of clients; tailPerOwner of them are reserved for operators
	tailPerOwner = 10  // maximum number of clients per owner, and for all operators together
	tailPause    = 250 * time.Millisecond
	tailCheck    = 5 * time.Second // interval at which a client is authorized again
	tailWrite    = 5 * time.Second // timeout for writing to a client
)

// item is an event in the form that the tail shows.
type item struct {
	At       time.Time     `json:"-"`
	Clock    string        `json:"at"`
	Stamp    string        `json:"stamp"`
	Latency  time.Duration `json:"-"`
	Late     string        `json:"late"`
	Author   string        `json:"author"`
	Platform string        `json:"platform"`
	Text     string        `json:"text"`
	URL      string        `json:"url"` // "" if the address must not become a link
	For      string        `json:"for"` // name of the monitor or rule
	Owner    string        `json:"-"`
	Seq      uint64        `json:"-"`
	Page     string        `json:"page"` // link to the event's page; "" if it has none
}

func newItem(e *deliver.Event) item {
	return item{
		At: e.DetectedAt, Clock: clock(e.DetectedAt), Stamp: stamp(e.DetectedAt), Latency: e.Latency, Late: figure.Duration(e.Latency),
		Author: cut(100, e.AuthorUsername), Platform: e.Platform, Text: cut(100, e.TextPreview), URL: out(e.TweetURL, "").URL,
		For: cut(100, e.Source.Name), Owner: e.Source.Owner, Seq: e.Seq,
	}
}

// EventLink returns the link to an event's page, or "" if there is none.
func (v *view) EventLink(i item) string {
	if !v.Has("event") {
		return ""
	}
	q := url.Values{"seq": {strconv.FormatUint(i.Seq, 10)}}
	if v.Viewer.All {
		q.Set("owner", i.Owner)
	}
	return "event?" + q.Encode()
}

// tail keeps the newest events, and queues new ones for its clients.
type tail struct {
	mu      sync.Mutex
	recent  []item // a ring of at most tailKept
	next    int
	clients map[*tailClient]struct{}
	closed  chan struct{}
	serving sync.WaitGroup
}

func newTail() *tail {
	return &tail{clients: map[*tailClient]struct{}{}, closed: make(chan struct{})}
}

// operators is the group of viewers who may see all owners.
const operators = "operators"

// tailClient is an open page that shows the tail. The tail's mutex guards it.
type tailClient struct {
	scope
	group   string // the limit tailPerOwner is for all clients of a group
	queue   []item
	dropped int
	wake    chan struct{}
}

// publish adds new events. It does not block.
func (t *tail) publish(events []deliver.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range events {
		it := newItem(&events[i])
		t.keep(it)
		for c := range t.clients {
			if c.has(it.Owner) {
				c.add(it)
			}
		}
	}
}

// keep adds an event to the ring.
func (t *tail) keep(i item) {
	if len(t.recent) < tailKept {
		t.recent = append(t.recent, i)
		return
	}
	t.recent[t.next] = i
	t.next = (t.next + 1) % tailKept
}

// add queues an event for the client.
func (c *tailClient) add(i item) {
	if len(c.queue) == tailQueue {
		c.queue = append(c.queue[:0], c.queue[1:]...)
		c.dropped++
	}
	c.queue = append(c.queue, i)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// latest returns the newest events in memory that are in the scope, newest first.
func (t *tail) latest(of scope) (list []item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n := len(t.recent) - 1; n >= 0 && len(list) < tailShown; n-- {
		if i := &t.recent[(t.next+n)%len(t.recent)]; of.has(i.Owner) {
			list = append(list, *i)
		}
	}
	return list
}

// close ends all open tails.
func (t *tail) close() {
	t.mu.Lock()
	close(t.closed)
	t.mu.Unlock()
	t.serving.Wait()
}

// errClosed and errCrowded are the reasons for refusing a tail.
var (
	errClosed  = &failure{http.StatusServiceUnavailable, "The console is closed."}
	errCrowded = &failure{http.StatusServiceUnavailable, "Too many look at the live events. Close another page."}
)

func (t *tail) join(c *tailClient) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.closed:
		return errClosed
	default:
	}
	same, customers := 0, 0
	for o := range t.clients {
		if o.group == c.group {
			same++
		}
		if o.group != operators {
			customers++
		}
	}
	if same >= tailPerOwner || c.group != operators && customers >= tailClients-tailPerOwner {
		return errCrowded
	}
	t.clients[c] = struct{}{}
	t.serving.Add(1)
	return nil
}

func (t *tail) leave(c *tailClient) {
	t.mu.Lock()
	delete(t.clients, c)
	t.mu.Unlock()
	t.serving.Done()
}

// take empties a client's queue and returns its items. dropped is how many were dropped before them.
func (t *tail) take(c *tailClient) (items []item, dropped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	items, dropped = c.queue, c.dropped
	c.queue, c.dropped = nil, 0
	return items, dropped
}

// serveTail sends events to a client as server-sent events when they are committed. It ends when the
// client disconnects or is no longer authorized, or the console is closed. If the client is too slow,
// serveTail drops events and sends their number.
func (c *Console) serveTail(w http.ResponseWriter, v *view) error {
	me := &tailClient{scope: v.scope(), wake: make(chan struct{}, 1), group: "owner " + v.Viewer.Owner}
	if v.Viewer.All {
		me.group = operators
	}
	rc := http.NewResponseController(w)
	if err := c.tail.join(me); err != nil {
		w.Header().Set("Retry-After", "10")
		return err
	}
	defer c.tail.leave(me)
	_ = rc.SetReadDeadline(time.Time{}) // the server's ReadTimeout would end the stream
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx
	// If deadlines are not supported, the server's own applies.
	bound := func() { _ = rc.SetWriteDeadline(time.Now().Add(tailWrite)) }
	defer bound() // also limits writing the end of the answer
	send := func(text string) error {
		bound()
		if _, err := fmt.Fprint(w, text); err != nil {
			return err
		}
		if err := rc.Flush(); err != nil {
			return err
		}
		// Over HTTP/2 an expired deadline resets the stream, even if nothing is being written.
		_ = rc.SetWriteDeadline(time.Time{})
		return nil
	}
	if err := send("retry: 3000\nevent: ready\ndata:\n\n"); err != nil {
		if errors.Is(err, http.ErrNotSupported) {
			c.cfg.Logger.Error("the live tail needs a ResponseWriter that can be flushed", "error", err)
		}
		return nil
	}
	check := time.NewTicker(tailCheck)
	defer check.Stop()
	for {
		select {
		case <-v.Context().Done():
			return nil
		case <-c.tail.closed:
			return nil
		case <-check.C:
			if !c.same(v) {
				return nil
			}
			if send(":\n\n") != nil {
				return nil
			}
			continue
		case <-me.wake:
		}
		items, dropped := c.tail.take(me)
		for n := range items {
			items[n].Page = v.EventLink(items[n])
		}
		if send(frames(items, dropped)) != nil {
			return nil
		}
		// A busy engine must not flood the browser: send the events of this interval together.
		select {
		case <-time.After(tailPause):
		case <-v.Context().Done():
			return nil
		}
	}
}

// same reports whether a viewer may still see the same owners as before.
func (c *Console) same(v *view) bool {
	ctx, cancel := context.WithTimeout(v.Context(), pageTime)
	defer cancel()
	who, err := c.cfg.Authorize(v.WithContext(ctx))
	return err == nil && who.All == v.Viewer.All && who.Owner == v.Viewer.Owner
}

// frames encodes events as server-sent events.
func frames(items []item, dropped int) string {
	var b []byte
	if dropped > 0 {
		b = fmt.Appendf(b, "event: dropped\ndata: %d\n\n", dropped)
	}
	for i := range items {
		line, err := json.Marshal(&items[i])
		if err != nil {
			continue // cannot happen: an item always encodes
		}
		b = append(b, "event: item\ndata: "...)
		b = append(b, line...)
		b = append(b, "\n\n"...)
	}
	return string(b)
}
