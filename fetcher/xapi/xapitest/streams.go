package xapitest

import (
	"math/rand/v2"
	"net/http"
	"time"
)

// StreamFaults sets the faults of streams. With the zero value a stream sends each event
// immediately and in order, and never ends.
type StreamFaults struct {
	// Delay is the time from a post's publication to its line. The server adds a random time of
	// up to Disorder.
	Delay, Disorder time.Duration
	// Duplicate is the fraction of lines that are sent twice, 0 to 1.
	Duplicate float64
	// DisconnectAfter is the mean time after which the server ends a connection. 0 means never.
	DisconnectAfter time.Duration
	// Torn is the fraction of these connections that end in the middle of a line. Announced is
	// the fraction that end with an operational-disconnect message. Both are 0 to 1.
	Torn, Announced float64
	// GhostFor is how long a connection counts as open after it ended because of DisconnectAfter.
	GhostFor time.Duration
	// Seed is the seed of the random numbers.
	Seed uint64
}

// StreamStats counts events of streams.
type StreamStats struct {
	Disconnects, Torn, Announced, Ghosts, Refused, Duplicated int
}

// The kinds of streams, as named in GET /2/connections.
const (
	activityStream = "activity_stream"
	filteredStream = "filtered_stream"
)

const (
	keepAlive      = 20 * time.Second
	connectsPerQtr = 50
)

// Streams has the activity stream and the filtered stream of a Server: their connections,
// subscriptions and rules. It is safe for concurrent use.
type Streams struct {
	s *Server // its mu guards the fields below

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

// posted sends a post to the streams. The caller holds s.mu.
func (st *Streams) posted(p *post) {
	included := object{"tweets": []object{p.tweet()}, "users": []object{p.author.user()}}
	if p.ref != nil {
		included["tweets"] = []object{p.tweet(), p.ref.tweet()}
	}
	st.activity.push("post.create", p, p.tweet(), included)
	st.filter.push(p)
}

// deleted sends a deletion to the activity stream. The caller holds s.mu.
func (st *Streams) deleted(p *post) {
	st.activity.push("post.delete", p, object{"id": p.id, "author_id": p.author.id}, object{"users": []object{{"data": p.author.user()}}})
}

// SetFaults sets the faults. DisconnectAfter applies only to connections opened later.
func (st *Streams) SetFaults(f StreamFaults) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	st.faults = f
	st.rng = rand.New(rand.NewPCG(f.Seed, 1))
}

// Stats returns the counters.
func (st *Streams) Stats() StreamStats {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	return st.stats
}

// Cut ends all connections, as a crash of the server would.
func (st *Streams) Cut() {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	for _, c := range st.conns {
		c.end()
	}
}

// SendLine sends a line, unchanged, to all connections.
func (st *Streams) SendLine(text string) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	for _, c := range st.conns {
		c.add(line{due: st.s.cfg.Now(), body: []byte(text)})
	}
}

// serve answers a request for a stream. It refuses the request if most connections of this kind
// are open.
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
