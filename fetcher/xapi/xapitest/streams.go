package xapitest

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// StreamFaults are what goes wrong with streams. The zero value is a stream that brings
// each event at once, in order, for as long as the client wants.
type StreamFaults struct {
	// Delay is from a post's publication to its line; Disorder is added at random, up
	// to this much.
	Delay, Disorder time.Duration
	// Duplicate is the share of lines that are sent twice, 0 to 1.
	Duplicate float64
	// DisconnectAfter is how long a connection lasts in the mean; 0 for as long as the
	// client wants.
	DisconnectAfter time.Duration
	// Torn is the share of these ends within a line, and Announced the share that an
	// operational-disconnect announces.
	Torn, Announced float64
	// GhostFor is how long a connection that was ended by DisconnectAfter still counts
	// as open.
	GhostFor time.Duration
	// Seed is that of the random numbers.
	Seed uint64
}

// StreamStats count what streams did.
type StreamStats struct {
	Connects, Disconnects, Torn, Announced, Ghosts, Refused, Lines, Duplicated, KeepAlives int
}

// Kinds of streams, by the names of GET /2/connections.
const (
	activityStream = "activity_stream"
	filteredStream = "filtered_stream"
)

const (
	keepAlive      = 20 * time.Second
	connectsPerQtr = 50
)

// Streams are the activity stream and the filtered stream of a Server: their
// connections, subscriptions and rules. They are safe for concurrent use.
type Streams struct {
	s *Server // whose mu guards what follows

	faults   StreamFaults
	rng      *rand.Rand
	stats    StreamStats
	conns    []*conn
	lastConn int
	activity *activity
	filter   *filter
}

func newStreams(s *Server) *Streams {
	st := &Streams{s: s, rng: rand.New(rand.NewPCG(0, 1))}
	st.activity, st.filter = &activity{streams: st}, &filter{streams: st}
	s.mux.HandleFunc("GET /2/activity/stream", func(w http.ResponseWriter, r *http.Request) { st.serve(w, r, activityStream, 2) })
	s.mux.HandleFunc("GET /2/tweets/search/stream", func(w http.ResponseWriter, r *http.Request) {
		if len(st.Rules()) == 0 {
			writeProblem(w, http.StatusConflict, object{"title": "ConnectionException", "detail": "You must define at least one rule", "connection_issue": "RuleConfigurationIssue", "type": "https://api.twitter.com/2/problems/streaming-connection"})
			return
		}
		st.serve(w, r, filteredStream, 1)
	})
	st.activity.routes()
	st.filter.routes()
	st.connectionRoutes()
	return st
}

// posted sends a post to the streams. s.mu is held.
func (st *Streams) posted(p *post) {
	included := object{"tweets": []object{p.tweet()}, "users": []object{p.author.user()}}
	if p.ref != nil {
		included["tweets"] = []object{p.tweet(), p.ref.tweet()}
	}
	st.activity.push("post.create", p, p.tweet(), included)
	st.filter.push(p)
}

// deleted sends a deletion to the streams. s.mu is held.
func (st *Streams) deleted(p *post) {
	st.activity.push("post.delete", p, object{"id": p.id, "author_id": p.author.id}, object{"users": []object{{"data": p.author.user()}}})
}

// conn is a connection, or one that is gone and still counts as one until a time.
type conn struct {
	id, kind string
	queue    []line // by when they are due
	bell     chan struct{}
	cut      chan struct{} // closed to end it
	ends     time.Time     // zero for never
	ghost    time.Time
	gone     bool
}

// line is one that is due.
type line struct {
	due  time.Time
	body []byte
	kind string // what is billed when it is sent
	id   string
}

// SetFaults changes what goes wrong. DisconnectAfter is for connections made from now on.
func (st *Streams) SetFaults(f StreamFaults) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	st.faults = f
	st.rng = rand.New(rand.NewPCG(f.Seed, 1))
}

// Stats reads the counters.
func (st *Streams) Stats() StreamStats {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	return st.stats
}

// Cut ends all connections, as a server does that dies.
func (st *Streams) Cut() {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	for _, c := range st.conns {
		c.end()
	}
}

// SendLine sends a line to all connections, as it is.
func (st *Streams) SendLine(text string) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	for _, c := range st.conns {
		c.add(line{due: st.s.cfg.Now(), body: []byte(text)})
	}
}

// serve serves a stream of which there may be so many at a time.
func (st *Streams) serve(w http.ResponseWriter, r *http.Request, kind string, most int) {
	if !st.s.take(w, kind, connectsPerQtr) {
		return
	}
	c := st.connect(kind, most)
	if c == nil {
		writeProblem(w, http.StatusTooManyRequests, object{"title": "ConnectionException", "connection_issue": "TooManyConnections",
			"detail": "This stream is currently at the maximum allowed connection limit.", "type": "https://api.twitter.com/2/problems/streaming-connection"})
		return
	}
	defer st.disconnect(c)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	if out.Flush() != nil {
		return
	}
	beat := time.NewTicker(keepAlive)
	defer beat.Stop()
	for {
		body, wait := st.next(c)
		if body == nil {
			due := time.NewTimer(wait)
			select {
			case <-due.C:
			case <-c.bell:
			case <-beat.C:
				body = st.keepAlive()
			case <-c.cut:
				st.end(w, c)
			case <-r.Context().Done():
				due.Stop()
				return
			}
			due.Stop()
			if body == nil {
				continue
			}
		}
		if _, err := w.Write(append(body, '\r', '\n')); err != nil || out.Flush() != nil {
			return
		}
	}
}

// connect opens a connection; nil when there are enough.
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
	st.stats.Connects++
	st.lastConn++
	c := &conn{id: strconv.Itoa(st.lastConn), kind: kind, bell: make(chan struct{}, 1), cut: make(chan struct{})}
	if after := st.faults.DisconnectAfter; after > 0 {
		c.ends = now.Add(time.Duration(st.rng.ExpFloat64() * float64(after)))
	}
	st.conns = append(st.conns, c)
	return c
}

// disconnect takes note of a connection's end.
func (st *Streams) disconnect(c *conn) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	c.gone = true
	if !c.ghost.After(st.s.cfg.Now()) {
		st.conns = slices.DeleteFunc(st.conns, func(o *conn) bool { return o == c })
	}
}

// next takes the next line that is due, or says how long to wait for it. A connection
// that is over is cut.
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
	st.stats.Lines++
	if l.kind != "" {
		st.s.bill.charge(now, l.kind, l.id)
	}
	return l.body, 0
}

// end ends a connection that is cut, in one of the ways that there are. It does not
// return.
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

// keepAlive is an empty line.
func (st *Streams) keepAlive() []byte {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	st.stats.KeepAlives++
	return []byte{}
}

func (c *conn) end() {
	select {
	case <-c.cut:
	default:
		close(c.cut)
	}
}

// add puts a line where it belongs by its time.
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

// push sends an event to all connections of a kind, after the delay. st.s.mu is held.
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
