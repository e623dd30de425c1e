package xapitest

import (
	"math/rand/v2"
	"net/http"
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
	Disconnects, Torn, Announced, Ghosts, Refused, Duplicated int
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
				body = []byte{} // an empty line
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
