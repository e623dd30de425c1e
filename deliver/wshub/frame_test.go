package wshub

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
)

// FuzzEventFrame: whatever a post says, its frame is valid JSON with the body's
// members, seq, and the post twice.
func FuzzEventFrame(f *testing.F) {
	f.Add("hello", "space", uint64(1))
	f.Add(`x","tweet_data":{"id":"1"},"tweet":"`, `,"tweet_data":`, uint64(1<<63))
	f.Add("\\\",\"tweet_data\":", "\xff\u2028", uint64(0))
	f.Fuzz(func(t *testing.T, text, name string, seq uint64) {
		ev := deliver.Event{Seq: seq, Source: deliver.Source{ID: name, Name: name}, TweetID: text, AuthorUsername: name,
			PublishedAt: time.Unix(0, 0), DetectedAt: time.Unix(1, 0), Latency: time.Second}
		ev.Body = deliver.AppendBody(nil, &ev, &fetcher.Tweet{ID: "1", Text: text, Username: name})
		var frame, body map[string]json.RawMessage
		fr := eventFrame(&ev)
		if err := json.Unmarshal(fr.data, &frame); err != nil {
			t.Fatalf("%s: %v", fr.data, err)
		}
		if err := json.Unmarshal(ev.Body, &body); err != nil {
			t.Fatal(err)
		}
		for k, v := range body {
			if !bytes.Equal(frame[k], v) {
				t.Errorf("%s: %s, want %s", k, frame[k], v)
			}
		}
		if len(frame) != len(body)+3 || !bytes.Equal(frame["tweet"], body["tweet_data"]) || !utf8.Valid(fr.data) {
			t.Errorf("%s", fr.data)
		}
	})
}

func TestFrameOfABodyFromElsewhere(t *testing.T) {
	rows := map[string]string{
		`{}`:                     `{"type":"tweet","seq":7}`,
		`{"a":1}`:                `{"type":"tweet","seq":7,"a":1}`,
		``:                       `{"type":"tweet","seq":7}`,
		`{"a":1,"tweet_data":2}`: `{"type":"tweet","seq":7,"a":1,"tweet_data":2,"tweet":2}`,
	}
	for body, want := range rows {
		if got := string(eventFrame(&deliver.Event{Seq: 7, Body: []byte(body)}).data); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// FuzzQuery: what is let in is within the bounds.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{"", "since=5", "since=-1", "since=9223372036854775807", "monitor_id=a&monitor_id=b&rule_id=c", "monitor_id=", "since=0&since=x", "since=7.41", "since=7.41.2", "monitor_id=" + strings.Repeat("x", 200)} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		flt, from, err := parseQuery(q)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "wshub: ") || len(err.Error()) > 250 {
				t.Errorf("%v", err)
			}
			return
		}
		if from.resume != q.Has("since") || from.seq > 1<<63-1 || from.bare == strings.Contains(q.Get("since"), ".") {
			t.Errorf("since %+v of %q", from, raw)
		}
		for _, id := range append(flt.monitors, flt.rules...) {
			if id == "" || len(id) > maxID {
				t.Errorf("id %q", id)
			}
		}
		if len(flt.monitors) > maxFilters || len(flt.rules) > maxFilters {
			t.Errorf("%d and %d ids", len(flt.monitors), len(flt.rules))
		}
	})
}

// TestOutcomesAreBounded: the oldest are forgotten, and nothing else is.
func TestOutcomesAreBounded(t *testing.T) {
	var o outcomes
	for n := range maxOutcomes + 10 {
		o.add(strconv.Itoa(n))
		o.add(strconv.Itoa(n))
	}
	for n := range maxOutcomes + 10 {
		if got := o.has(strconv.Itoa(n)); got != (n >= 10) {
			t.Fatalf("%d: %v", n, got)
		}
	}
	if o.has("evt_11") || len(o.known) != maxOutcomes || len(o.order) != maxOutcomes {
		t.Errorf("%d and %d are kept", len(o.known), len(o.order))
	}
}
