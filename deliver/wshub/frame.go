package wshub

import (
	"bytes"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
)

// frame is one text frame of a stream: an event, or a gap of events that are not sent. All
// connections share it. Only sent changes.
type frame struct {
	seq    uint64 // of the event, or the last of the gap
	event  string // its id; "" for a gap
	source string // id of the monitor or rule; "" for a gap
	kind   deliver.SourceKind
	data   []byte
	logged bool        // a delivery to the hub waits for it
	sent   atomic.Bool // to some client
}

// tweetData begins the last member of a body. Its first occurrence is that member: quotes inside
// strings are escaped, and no earlier member is an object.
var tweetData = []byte(`,"tweet_data":`)

// eventFrame returns the frame for an event. It has the members of the stored body, with type
// and seq before them and the post once more after them, as tweet.
func eventFrame(ev *deliver.Event) *frame {
	members := bytes.TrimSuffix(bytes.TrimPrefix(ev.Body, []byte("{")), []byte("}"))
	_, post, _ := bytes.Cut(members, tweetData)
	b := make([]byte, 0, len(members)+len(post)+64)
	b = append(b, `{"type":"tweet","seq":`...)
	b = strconv.AppendUint(b, ev.Seq, 10)
	if len(members) > 0 {
		b = append(append(b, ','), members...)
	}
	if len(post) > 0 {
		b = append(append(b, `,"tweet":`...), post...)
	}
	return &frame{seq: ev.Seq, event: ev.ID, source: ev.Source.ID, kind: ev.Source.Kind, data: append(b, '}'),
		logged: slices.Contains(ev.Handlers, handlerName(ev.Source.Owner))}
}

// gapFrame returns the frame for a range of events that are not sent. Unless epoch is 0, the
// frame contains it: later numbers are of this epoch. connectedFrame does the same.
func gapFrame(from, to, epoch uint64) *frame {
	b := append([]byte(nil), `{"type":"gap","from_seq":`...)
	b = strconv.AppendUint(b, from, 10)
	b = append(b, `,"to_seq":`...)
	return &frame{seq: to, data: append(appendEpoch(strconv.AppendUint(b, to, 10), epoch), '}')}
}

func connectedFrame(connection, key string, seq, epoch uint64) []byte {
	b := fetcher.AppendString([]byte(`{"type":"connected","connection_id":`), connection)
	b = fetcher.AppendString(append(b, `,"api_key_id":`...), key)
	return append(appendEpoch(strconv.AppendUint(append(b, `,"seq":`...), seq, 10), epoch), '}')
}

func appendEpoch(b []byte, epoch uint64) []byte {
	if epoch == 0 {
		return b
	}
	return strconv.AppendUint(append(b, `,"epoch":`...), epoch, 10)
}

func pingFrame(now time.Time) []byte {
	b := append([]byte(nil), `{"type":"ping","timestamp":"`...)
	return append(now.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z"), `"}`...)
}

func errorFrame(code int, message string) []byte {
	b := strconv.AppendInt([]byte(`{"type":"error","code":`), int64(code), 10)
	return append(fetcher.AppendString(append(b, `,"message":`...), message), '}')
}
