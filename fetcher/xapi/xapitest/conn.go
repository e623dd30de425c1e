package xapitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// conn is a connection of a stream. It may count as open for some time after its end.
type conn struct {
	kind  string
	queue []line        // sorted by due
	bell  chan struct{} // rung when queue changes
	cut   chan struct{} // closed to end the connection
	ends  time.Time     // when the server ends it; zero for never
	ghost time.Time     // until when it counts as open after its end
	gone  bool          // it has ended
}

// line is a line to send once it is due.
type line struct {
	due  time.Time
	body []byte
	kind string // what to bill when it is sent; "" for nothing
	id   string
}

// connect opens a connection. It returns nil if most connections of that kind are open.
func (st *Streams) connect(kind string, most int) *conn {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	now := st.s.cfg.Now()
	st.conns = slices.DeleteFunc(st.conns, func(c *conn) bool { return c.gone && !c.ghost.After(now) })
	n := 0
	for _, c := range st.conns {
		if c.kind == kind {
			n++
		}
	}
	if n >= most {
		st.stats.Refused++
		return nil
	}
	c := &conn{kind: kind, bell: make(chan struct{}, 1), cut: make(chan struct{})}
	if after := st.faults.DisconnectAfter; after > 0 {
		c.ends = now.Add(time.Duration(st.rng.ExpFloat64() * float64(after)))
	}
	st.conns = append(st.conns, c)
	return c
}

// disconnect marks a connection as ended.
func (st *Streams) disconnect(c *conn) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	c.gone = true
	if !c.ghost.After(st.s.cfg.Now()) {
		st.conns = slices.DeleteFunc(st.conns, func(o *conn) bool { return o == c })
	}
}

// next removes and returns the next line that is due. If no line is due, it returns how long to
// wait. At the time c.ends it cuts the connection.
func (st *Streams) next(c *conn) (body []byte, wait time.Duration) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	now := st.s.cfg.Now()
	wait = time.Hour
	if !c.ends.IsZero() {
		if wait = c.ends.Sub(now); wait <= 0 {
			c.end()
			return nil, time.Hour
		}
	}
	if len(c.queue) == 0 {
		return nil, wait
	}
	l := c.queue[0]
	if until := l.due.Sub(now); until > 0 {
		return nil, min(wait, until)
	}
	c.queue = c.queue[1:]
	if l.kind != "" {
		st.s.bill.charge(now, l.kind, l.id)
	}
	return l.body, 0
}

// end ends a cut connection in one of the ways that StreamFaults describes. It does not return.
func (st *Streams) end(w http.ResponseWriter, c *conn) {
	st.s.mu.Lock()
	f := &st.faults
	st.stats.Disconnects++
	var last string
	switch draw := st.rng.Float64(); {
	case draw < f.Torn:
		st.stats.Torn++
		last = `{"data":{"event_type":"post.create","payload":{"id":"12`
	case draw < f.Torn+f.Announced:
		st.stats.Announced++
		last = `{"errors":[{"title":"operational-disconnect","disconnect_type":"UpstreamOperationalDisconnect","detail":"This stream has been disconnected upstream for operational reasons.","type":"https://api.twitter.com/2/problems/operational-disconnect"}]}` + "\r\n"
	}
	if f.GhostFor > 0 && !c.ends.IsZero() {
		c.ghost = st.s.cfg.Now().Add(f.GhostFor)
		st.stats.Ghosts++
	}
	st.s.mu.Unlock()
	_, _ = w.Write([]byte(last))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func (c *conn) end() {
	select {
	case <-c.cut:
	default:
		close(c.cut)
	}
}

// add inserts a line into the queue, by the time when it is due.
func (c *conn) add(l line) {
	at, _ := slices.BinarySearchFunc(c.queue, l, func(a, b line) int {
		if a.due.After(b.due) {
			return 1
		}
		return -1
	})
	c.queue = slices.Insert(c.queue, at, l)
	select {
	case c.bell <- struct{}{}:
	default:
	}
}

// push queues an event for all connections of a kind, due after StreamFaults.Delay. The
// caller holds st.s.mu.
func (st *Streams) push(kind string, body object, billed, id string) {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	for _, c := range st.conns {
		if c.kind != kind || c.gone {
			continue
		}
		times := 1
		if st.rng.Float64() < st.faults.Duplicate {
			times = 2
			st.stats.Duplicated++
		}
		for range times {
			due := st.s.cfg.Now().Add(st.faults.Delay)
			if st.faults.Disorder > 0 {
				due = due.Add(time.Duration(st.rng.Int64N(int64(st.faults.Disorder))))
			}
			c.add(line{due: due, body: b, kind: billed, id: id})
		}
	}
}
