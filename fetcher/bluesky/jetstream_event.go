package bluesky

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// streamPosition is a position in a Jetstream subscription. Its text form is JSON.
type streamPosition struct {
	Host string `json:"host"`
	// TimeUS is an event's time_us: Unix time in microseconds, by the server's clock. Several
	// events may have the same TimeUS. For the same event, it differs slightly between hosts.
	TimeUS int64 `json:"time_us"`
	// Seq is the host's sequence number of the event; 0 if the host sends none.
	Seq int64 `json:"seq,omitempty"`
}

const (
	// rewind is subtracted from the time of a position when a stream resumes by time.
	rewind = 5 * time.Second
	// keptFor is the greatest age of a position from which a stream resumes without loss.
	// Servers keep events for 36 hours by default. For an older position they start at their
	// oldest event, without an error.
	keptFor = 35 * time.Hour
)

// parsePosition parses a position. For an invalid text it returns the zero value, with which a
// stream starts at the present.
func parsePosition(text string) streamPosition {
	var p streamPosition
	if json.Unmarshal([]byte(text), &p) != nil || p.TimeUS <= 0 || p.Seq < 0 {
		return streamPosition{}
	}
	return p
}

func (p streamPosition) text() string {
	b, _ := json.Marshal(p) // a string and two numbers
	return string(b)
}

// bySeq reports whether the position has a sequence number of that host.
func (p streamPosition) bySeq(host string) bool { return p.Seq > 0 && p.Host == host }

// cursor returns the URL parameter to resume from the position on that host: a sequence number
// or a time. It returns "" for the zero position.
func (p streamPosition) cursor(host string) string {
	switch {
	case p.TimeUS == 0:
		return ""
	case p.bySeq(host):
		return strconv.FormatInt(p.Seq, 10)
	}
	return strconv.FormatInt(p.TimeUS-rewind.Microseconds(), 10)
}

// exact reports whether a stream resumed on that host delivers every event since the position.
func (p streamPosition) exact(host string, now time.Time) bool {
	return p.bySeq(host) && now.Sub(time.UnixMicro(p.TimeUS)) < keptFor
}

// before reports whether an event is older than the position. A server may start a replay up to
// minutes too early.
func (p streamPosition) before(host string, e *jetstreamEvent) bool {
	if p.bySeq(host) && e.Cursor > 0 {
		return e.Cursor < p.Seq
	}
	return e.TimeUS < p.TimeUS-rewind.Microseconds()
}

// jetstreamEvent is a message of the server. Only version 2 servers set Cursor.
type jetstreamEvent struct {
	DID    string `json:"did"`
	TimeUS int64  `json:"time_us"`
	Cursor int64  `json:"cursor"`
	Kind   string `json:"kind"`
	Commit struct {
		Operation  string          `json:"operation"`
		Collection string          `json:"collection"`
		RKey       string          `json:"rkey"`
		Record     json.RawMessage `json:"record"`
	} `json:"commit"`
}

// message emits the signal for one event, or SignalGap if the event is unreadable. It ignores
// events older than the position to resume from.
func (s *subscription) message(b []byte) error {
	var e jetstreamEvent
	if unmarshal(b, &e) != nil || e.TimeUS <= 0 || !isDID(e.DID) {
		return s.emit(fetcher.Signal{Kind: fetcher.SignalGap})
	}
	if s.from.before(s.host, &e) {
		return nil
	}
	s.last = streamPosition{Host: s.host, TimeUS: e.TimeUS, Seq: max(e.Cursor, 0)}.text()
	signal := s.signal(&e)
	signal.Position, signal.At = s.last, time.UnixMicro(e.TimeUS).UTC()
	return s.emit(signal)
}

// signal returns the signal for an event. If the event is not about a post or a repost, or if
// its account is no longer wanted, it returns a SignalHeartbeat.
func (s *subscription) signal(e *jetstreamEvent) fetcher.Signal {
	alive := fetcher.Signal{Kind: fetcher.SignalHeartbeat}
	name, wanted := s.name(e.DID)
	c := &e.Commit
	if e.Kind != "commit" || !wanted || c.Collection != postCollection && c.Collection != repostCollection {
		return alive
	}
	uri := "at://" + e.DID + "/" + c.Collection + "/" + c.RKey
	u, ok := parseURI(uri)
	switch {
	case !ok:
		return fetcher.Signal{Kind: fetcher.SignalGap}
	case c.Operation == "delete":
		return fetcher.Signal{Kind: fetcher.SignalDelete, ID: uri}
	case c.Operation != "create" && c.Operation != "update":
		return alive
	}
	var r record
	if unmarshal(c.Record, &r) != nil {
		return fetcher.Signal{Kind: fetcher.SignalGap}
	}
	t := r.tweet(uri, u, account{did: e.DID, name: name}, "")
	stamp(&t, uri, published(u.key, "", r.CreatedAt, time.UnixMicro(e.TimeUS)))
	if c.Operation == "update" {
		return fetcher.Signal{Kind: fetcher.SignalEdit, Post: &t}
	}
	return fetcher.Signal{Kind: fetcher.SignalPost, Post: &t}
}
