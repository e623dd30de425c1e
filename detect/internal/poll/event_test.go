package poll

import (
	"cmp"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
)

// What an event says of its post, beside the times.
func TestDescribe(t *testing.T) {
	const link = "https://x.com/nasa/status/1"
	long := strings.Repeat("é", 101)
	for name, row := range map[string]struct {
		platform string
		post     fetcher.Tweet
		id       string // of which the event's id is made
		preview  string
		url      string
	}{
		"a post":               {"", fetcher.Tweet{Text: "moon"}, "1", "moon", link},
		"of a platform":        {"bluesky", fetcher.Tweet{Text: "moon", Permalink: "at://1"}, "bluesky:1", "moon", "at://1"},
		"without an address":   {"bluesky", fetcher.Tweet{Text: "moon"}, "bluesky:1", "moon", ""},
		"no handle":            {"", fetcher.Tweet{Text: "moon", Username: "https://example.com/feed"}, "1", "moon", ""},
		"its whole text":       {"", fetcher.Tweet{Text: "mo…", FullText: "moon"}, "1", "moon", link},
		"a hundred characters": {"", fetcher.Tweet{Text: long[:200]}, "1", long[:200], link},
		"a longer text":        {"", fetcher.Tweet{Text: long}, "1", long[:200], link},
	} {
		row.post.ID, row.post.Username = "1", cmp.Or(row.post.Username, "nasa")
		got := deliver.Event{Source: deliver.Source{ID: "m"}, Platform: row.platform}
		Describe(&got, &row.post)
		if got.ID != deliver.EventID("m", row.id) || got.TweetID != "1" || got.AuthorUsername != row.post.Username || got.TextPreview != row.preview || got.TweetURL != row.url {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What was stored by a clock that was ahead: a cursor, and when a source begins.
func TestClockThatWasAhead(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	var log strings.Builder
	env := &Env{Now: func() time.Time { return now }, MaxOverlap: time.Hour, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	at := func(d time.Duration) time.Time { return now.Add(d) }
	for ahead, want := range map[time.Duration]time.Time{
		-time.Minute: at(-time.Minute), time.Minute: now, maxFuture: now, maxFuture + time.Second: {},
	} {
		log.Reset()
		if got := env.Stored("account:nasa", Cursor{Since: at(ahead), UserID: "7"}); !got.Since.Equal(want) || got.UserID != "7" || want.IsZero() != strings.Contains(log.String(), "is ahead of the clock") {
			t.Errorf("a cursor %s ahead: %+v, want %s; log %s", ahead, got, want, log.String())
		}
	}
	for _, row := range []struct{ since, read, want time.Time }{
		{at(time.Hour), time.Time{}, at(time.Hour)},
		{at(Differ), at(-time.Minute), at(Differ)},
		{at(Differ + 1), at(-time.Minute), at(-time.Minute)},
		{at(Differ + 1), now, now},
		{at(Differ + 1), at(time.Second), at(-time.Hour)},
	} {
		if got := env.Begins(row.since, row.read, Differ); !got.Equal(row.want) {
			t.Errorf("a source of %s, read until %s: begins %s, want %s", row.since, row.read, got, row.want)
		}
	}
}
