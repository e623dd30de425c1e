package bluesky

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
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

// recent reports whether a server still has the events since the position.
func (p streamPosition) recent(now time.Time) bool {
	age := now.Sub(time.UnixMicro(p.TimeUS))
	return age > -clockSlack && age < keptFor
}

// longestReplay bounds how much too early a server may start a replay, and how long it takes
// to send that part. Both are a few minutes.
const longestReplay = 5 * time.Minute

// replays reports whether e is from before the position, as at the start of a replay by time,
// and is to be left out. lost reports that the stream did not resume from the position: a
// replay by number begins with the position's own event, and what is older than the position
// but no replay shows other numbers, or another clock.
func (s *subscription) replays(e *jetstreamEvent) (early, lost bool) {
	from := s.from
	if from == (streamPosition{}) {
		return false, false
	}
	behind := time.Duration(from.TimeUS-e.TimeUS)*time.Microsecond - rewind
	switch {
	case from.bySeq(s.host):
		lost = e.Cursor != from.Seq || e.TimeUS != from.TimeUS
	case behind > longestReplay || behind > 0 && s.cfg.Now().Sub(s.opened) > longestReplay:
		lost = true
	case behind > 0:
		return true, false
	}
	s.from = streamPosition{}
	return false, lost
}

// jetstreamEvent is an event. Only version 2 servers set Cursor.
type jetstreamEvent struct {
	DID    string          `json:"did"`
	TimeUS int64           `json:"time_us"`
	Cursor int64           `json:"cursor"`
	Kind   string          `json:"kind"`
	Commit jetstreamCommit `json:"commit"`
}

type jetstreamCommit struct {
	Operation  string          `json:"operation"`
	Collection string          `json:"collection"`
	RKey       string          `json:"rkey"`
	Record     json.RawMessage `json:"record"`
}

// jetstreamFrame is a message of the server: an event of version 1, or a frame of version 2, in the
// form of xrpc.v1.json. Type is "message" or "error" then.
type jetstreamFrame struct {
	jetstreamEvent
	Type    string          `json:"$type"`
	Payload json.RawMessage `json:"payload"`
	Error   string          `json:"error"`
	Message string          `json:"message"`
}

// event decodes the payload of version 2. It returns the name of an #info, which is no event.
func (f *jetstreamFrame) event() (e jetstreamEvent, info string) {
	if f.Type == "" {
		return f.jetstreamEvent, ""
	}
	var p struct {
		Type      string `json:"$type"`
		Seq       int64  `json:"seq"`
		DID       string `json:"did"`
		Time      string `json:"time"`
		Witnessed string `json:"witnessedAt"` // what a cursor by time is compared with
		Name      string `json:"name"`
		jetstreamCommit
	}
	if unmarshal(f.Payload, &p) != nil {
		return jetstreamEvent{}, ""
	}
	e = jetstreamEvent{DID: p.DID, Cursor: p.Seq, Commit: p.jetstreamCommit}
	_, e.Kind, _ = strings.Cut(p.Type, "#")
	if at, ok := parseTime(cmp.Or(p.Witnessed, p.Time)); ok {
		e.TimeUS = at.UnixMicro()
	}
	if e.Kind == "info" {
		info = cmp.Or(p.Name, e.Kind)
	}
	return e, info
}

// message emits the signal for one event, or SignalGap if the event is unreadable. It ignores
// events older than the position to resume from. It returns the server's error if the frame is
// one.
func (s *subscription) message(b []byte) error {
	if s.v2 {
		if err := s.tellChanged(s.emit); err != nil {
			return err
		}
	}
	var f jetstreamFrame
	if unmarshal(b, &f) != nil {
		return s.emit(fetcher.Signal{Kind: fetcher.SignalGap})
	}
	if f.Type == "error" {
		return fmt.Errorf("the server ended the stream: %.64q: %.256q", f.Error, f.Message)
	}
	e, info := f.event()
	if info != "" {
		return s.info(info)
	}
	if e.TimeUS <= 0 || !isDID(e.DID) {
		return s.emit(fetcher.Signal{Kind: fetcher.SignalGap})
	}
	early, lost := s.replays(&e)
	if early {
		return nil
	}
	if lost {
		if err := s.emit(fetcher.Signal{Kind: fetcher.SignalGap}); err != nil {
			return err
		}
	}
	s.last = streamPosition{Host: s.host, TimeUS: e.TimeUS, Seq: max(e.Cursor, 0)}.text()
	signal := s.signal(&e)
	signal.Position, signal.At = s.last, time.UnixMicro(e.TimeUS).UTC()
	return s.emit(signal)
}

// info emits the signal for a notice of version 2. After FutureCursor and OutdatedCursor the
// server did not start from the position.
func (s *subscription) info(name string) error {
	switch name {
	case "FutureCursor":
		s.last = streamPosition{Host: s.host, TimeUS: s.opened.UnixMicro()}.text()
	case "OutdatedCursor":
	default:
		return s.emit(fetcher.Signal{Kind: fetcher.SignalHeartbeat})
	}
	s.from = streamPosition{}
	return s.emit(fetcher.Signal{Kind: fetcher.SignalGap, Position: s.last})
}

// signal returns the signal for an event. If the event is not about a post or a repost, or if
// its account is no longer wanted, it returns a SignalHeartbeat.
func (s *subscription) signal(e *jetstreamEvent) fetcher.Signal {
	alive := fetcher.Signal{Kind: fetcher.SignalHeartbeat}
	name, wanted := s.name(e.DID)
	c := &e.Commit
	if e.Kind == "sync" && wanted { // the account has changed in an unknown way
		return fetcher.Signal{Kind: fetcher.SignalGap, Accounts: []fetcher.Account{{Username: name, UserID: e.DID}}}
	}
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
