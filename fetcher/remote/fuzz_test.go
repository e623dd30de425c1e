package remote

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func FuzzPage(f *testing.F) {
	f.Add(`{"data":[{"id":"2006093453187375104","created_at":"Tue Dec 30 20:20:12 +0000 2025","user_id":"7","username":"ann","text":"x"}],"next_cursor":"n"}`, "ann", "c")
	f.Add(`{"data":[{"id":7}],"data":[]}`, "", "n")
	f.Fuzz(func(t *testing.T, body, username, cursor string) {
		q := fetcher.TimelineQuery{Username: username, Cursor: cursor}
		page, err := decodePage([]byte(body), q)
		if err == nil != json.Valid([]byte(body)) && err == nil {
			t.Errorf("a page of what is no JSON: %q", body)
		}
		if err != nil {
			return
		}
		if page.Next == cursor && cursor != "" || len(page.Tweets) > maxPosts {
			t.Errorf("%d posts, Next %q", len(page.Tweets), page.Next)
		}
		q.Seen = func(id string) bool { return id != "" }
		known, err := decodePage([]byte(body), q)
		if err != nil || len(known.Tweets)+known.Skipped != len(page.Tweets) || !known.OldestAt.Equal(page.OldestAt) || known.UserID != page.UserID {
			t.Errorf("known posts change the page: %+v, %v; want %+v", known, err, page)
		}
		for i := range page.Tweets {
			if t2 := page.Tweets[i]; !json.Valid(t2.AppendJSON(nil)) {
				t.Errorf("a post that is no JSON: %+v", t2)
			}
		}
	})
}

func FuzzFrames(f *testing.F) {
	f.Add(`{"type":"tweet","seq":6,"tweet_published_at":"2026-03-01T12:00:00.250Z","tweet_data":{"id":"9","username":"ann"}}`, `{"type":"gap","from_seq":1,"to_seq":9}`)
	f.Add(`{"type":"ping","timestamp":"2026-03-01T12:00:00.250Z"}`, `{"type":"error","code":4001,"message":"x"}`)
	f.Add(`{"type":"connected","seq":1}`, `[]`)
	s, err := NewStream(StreamConfig{BaseURL: "https://h.example", Key: "k"})
	if err != nil {
		f.Fatal(err)
	}
	s.found = tracked{"ann": allKinds}
	f.Fuzz(func(t *testing.T, first, second string) {
		var last uint64
		up := false
		c := &connection{stream: s, wanted: []fetcher.Account{{Username: "ann"}}, changed: true, send: func(context.Context, []byte) error { return nil }}
		c.emit = func(g fetcher.Signal) error {
			if up == (g.Kind == fetcher.SignalUp) {
				t.Errorf("signal %d, after SignalUp: %t", g.Kind, up)
			}
			up = true
			p := parsePosition(g.Position, s.place)
			if !p.known() || p.Seq < last {
				t.Errorf("position %q after %d", g.Position, last)
			}
			last = p.Seq
			if g.Kind == fetcher.SignalPost && (g.Post.ID == "" || g.Post.PublishedAt.Equal(time.Time{}) || !json.Valid(g.Post.AppendJSON(nil))) {
				t.Errorf("post %+v", g.Post)
			}
			return nil
		}
		for _, b := range []string{`{"type":"connected","api_key_id":"key_1","seq":5}`, first, second} {
			if c.message(t.Context(), []byte(b)) != nil {
				return
			}
		}
	})
}
