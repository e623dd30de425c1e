package bluesky_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher/bluesky"
	"github.com/streamwatch/streamwatch/monitor"
)

const carol = "did:plc:carol22222222222222222222"

// feedSorter answers as the reference AppView does: indexedAt is the earlier of
// createdAt and the time of indexing, and a feed is sorted by it.
type feedSorter struct {
	mu    sync.Mutex
	posts []feedPost
	pages int
}

type feedPost struct {
	uri, original string // original: of a repost
	created, sort time.Time
}

func (v *feedSorter) publish(created time.Time) string {
	return v.add("app.bsky.feed.post", "", created)
}

func (v *feedSorter) repost(created time.Time) string {
	return v.add("app.bsky.feed.repost", "at://"+carol+"/app.bsky.feed.post/3jzfcijpj2z2a", created)
}

func (v *feedSorter) add(collection, original string, created time.Time) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	uri := "at://" + carol + "/" + collection + "/" + timestampID(now)
	indexed := now
	if created.Before(indexed) {
		indexed = created
	}
	v.posts = append(v.posts, feedPost{uri: uri, original: original, created: created, sort: indexed})
	slices.SortStableFunc(v.posts, func(a, b feedPost) int { return cmp.Compare(b.sort.UnixMilli(), a.sort.UnixMilli()) })
	return uri
}

// timestampID writes a record key as atproto.com/specs/tid says.
func timestampID(t time.Time) string {
	const digits = "234567abcdefghijklmnopqrstuvwxyz"
	n := uint64(t.UnixMicro()) << 10
	var id [13]byte
	for i := range id {
		id[len(id)-1-i] = digits[n>>(5*i)&31]
	}
	return string(id[:])
}

func (v *feedSorter) RoundTrip(r *http.Request) (*http.Response, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var answer any
	switch q := r.URL.Query(); r.URL.Path {
	case "/xrpc/com.atproto.identity.resolveHandle":
		answer = map[string]string{"did": carol}
	case "/xrpc/app.bsky.feed.getAuthorFeed":
		v.pages++
		var limit int
		if _, err := fmt.Sscan(q.Get("limit"), &limit); err != nil {
			return nil, err
		}
		answer = v.feed(q.Get("cursor"), limit)
	default:
		return nil, errors.New("no such method")
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Request: r, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
		Header: http.Header{"Content-Type": {"application/json"}, "Date": {time.Now().UTC().Format(http.TimeFormat)}}}, nil
}

func (v *feedSorter) feed(cursor string, limit int) map[string]any {
	const layout = "2006-01-02T15:04:05.000Z"
	author := map[string]string{"did": carol, "handle": "carol.example.com"}
	items := []any{}
	answer := map[string]any{}
	for _, p := range v.posts {
		at := p.sort.UTC().Format(layout)
		if cursor != "" && at >= cursor {
			continue
		}
		if len(items) == limit {
			break
		}
		shown := map[string]any{"uri": p.uri, "author": author, "indexedAt": at,
			"record": map[string]string{"text": "x", "createdAt": p.created.UTC().Format(layout)}}
		item := map[string]any{"post": shown}
		if p.original != "" {
			shown["uri"] = p.original
			item["reason"] = map[string]any{"$type": "app.bsky.feed.defs#reasonRepost", "by": author, "uri": p.uri, "indexedAt": at}
		}
		items = append(items, item)
		answer["cursor"] = at
	}
	answer["feed"] = items
	return answer
}

// A post with any createdAt is found when it is made, as long as it stands on a page
// that is read.
func TestPostsWithAnOldCreatedAtAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		<-time.After(25 * 365 * 24 * time.Hour) // virtual time begins in 2000, before the network
		view := &feedSorter{}
		b, err := bluesky.New(bluesky.Config{BaseURL: "https://appview.example.com", HTTP: &http.Client{Transport: view}})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]time.Duration{}
		var mu sync.Mutex
		e, err := streamwatch.New(streamwatch.Config{Fetcher: b, OnEvent: func(_ context.Context, ev deliver.Event) error {
			mu.Lock()
			defer mu.Unlock()
			found[ev.TweetID] = ev.Latency
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		for ago := range 30 { // one a day
			view.publish(time.Now().AddDate(0, 0, -ago-1))
			<-time.After(time.Second)
		}
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "m", Usernames: []string{"carol.example.com"}, PollInterval: 10 * time.Second}); err != nil {
			t.Fatal(err)
		}
		<-time.After(25 * time.Second)
		owed := map[string]string{}
		for _, made := range []struct {
			name string
			make func(time.Time) string
			ago  time.Duration
		}{
			{"now", view.publish, 0},
			{"a minute ago", view.publish, time.Minute},
			{"an hour ago", view.publish, time.Hour},
			{"ten days ago", view.publish, 10 * 24 * time.Hour},
			{"below all others", view.publish, 3 * 365 * 24 * time.Hour},
			{"a repost of two hours ago", view.repost, 2 * time.Hour},
			{"in an hour", view.publish, -time.Hour},
		} {
			owed[made.make(time.Now().Add(-made.ago))] = made.name
			<-time.After(13 * time.Second)
		}
		<-time.After(10 * time.Minute)
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		for uri, name := range owed {
			if latency, ok := found[uri]; !ok {
				t.Errorf("createdAt %s: the post is not found", name)
			} else if latency > 11*time.Second {
				t.Errorf("createdAt %s: latency %s, want at most the interval", name, latency)
			}
		}
		if len(found) != len(owed) {
			t.Errorf("%d posts found, want %d: those from before the monitor are not news", len(found), len(owed))
		}
		if view.pages > 200 {
			t.Errorf("%d pages read in 12 minutes of a poll every 10 s: want no more than one or two a poll", view.pages)
		}
	})
}
