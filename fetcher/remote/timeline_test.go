package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/remote"
)

// answers is a platform that gives one answer.
type answers struct {
	page fetcher.Page
	err  error
}

func (a *answers) Timeline(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
	return a.page, a.err
}

// What goes wrong behind the other service, and in it, is the error of package fetcher
// that an engine knows what to do about.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error // of the service's platform
		change func(*service)
		key    func(*testing.T, *service) apikey.Issued
		want   error
		status int
		wait   time.Duration // of a RateLimitError
	}{
		{name: "no such account", err: fetcher.ErrNotFound, want: fetcher.ErrNotFound},
		{name: "a private account", err: fetcher.ErrProtected, want: fetcher.ErrProtected},
		{name: "the service's own key for the platform is refused", err: fetcher.ErrUnauthorized, status: http.StatusBadGateway},
		{name: "the platform cannot be read", err: errors.New("dial tcp"), status: http.StatusBadGateway},
		{name: "the platform answers nonsense", err: fetcher.ErrMalformed, status: http.StatusBadGateway},
		{name: "the platform's rate limit", err: &fetcher.RateLimitError{RetryAfter: 42 * time.Second}, wait: 42 * time.Second},
		{name: "no provider", change: func(s *service) { s.options.Providers.Timeline = nil }, want: fetcher.ErrUnsupported},
		{name: "another segment", change: func(s *service) { s.options.Segment = "web2" }, want: fetcher.ErrNotFound},
		{name: "no credits", change: func(s *service) { s.options.Ledger = s.store.Ports().Ledger }, status: http.StatusPaymentRequired},
		{name: "a key that is not valid", key: func(*testing.T, *service) apikey.Issued { return apikey.Issued{Secret: "sw_0000"} }, want: fetcher.ErrUnauthorized},
		{name: "too many requests", key: func(t *testing.T, s *service) apikey.Issued {
			k := s.issue(apikey.IssueRequest{Owner: owner, Name: "slow", RatePerMinute: 1})
			if _, err := newFetcher(t, serve(t, s).Client(), k.Secret).Timeline(t.Context(), fetcher.TimelineQuery{Username: "ann"}); err != nil {
				t.Error(err)
			}
			return k
		}, wait: time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newService(t, &answers{err: c.err}, func(s *service) {
					if c.change != nil {
						c.change(s)
					}
				})
				s.start()
				defer s.stop()
				k := s.key
				if c.key != nil {
					k = c.key(t, s)
				}
				_, err := newFetcher(t, serve(t, s).Client(), k.Secret).Timeline(t.Context(), fetcher.TimelineQuery{Username: "ann"})
				var status *fetcher.StatusError
				var limited *fetcher.RateLimitError
				switch {
				case c.want != nil && !errors.Is(err, c.want):
					t.Errorf("%v, want %v", err, c.want)
				case c.status != 0 && (!errors.As(err, &status) || status.Code != c.status):
					t.Errorf("%v, want status %d", err, c.status)
				case c.wait != 0 && (!errors.As(err, &limited) || limited.RetryAfter != c.wait):
					t.Errorf("%v, want a rate limit of %s", err, c.wait)
				}
				for _, other := range []error{fetcher.ErrNotFound, fetcher.ErrProtected, fetcher.ErrUnauthorized} {
					if other != c.want && errors.Is(err, other) {
						t.Errorf("%v is %v, too", err, other)
					}
				}
				if err == nil || !strings.Contains(err.Error(), `"ann"`) || strings.Contains(err.Error(), string(k.Secret)) {
					t.Errorf("%v: want the account named, and no key", err)
				}
			})
		})
	}
}

// A cursor outlives the other service's process where its key does, and is refused
// where not; a query needs a name.
func TestCursorOfAnotherProcess(t *testing.T) {
	p := newPlatform()
	for i := range 20 {
		p.Post("ann", fmt.Sprint(i))
	}
	s := newService(t, p)
	s.start()
	defer func() { s.stop() }()
	f := newFetcher(t, serve(t, s).Client(), s.key.Secret)
	page, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: "ann"})
	if err != nil || page.Next == "" {
		t.Fatal(page.Next, err)
	}
	older := fetcher.TimelineQuery{Username: "ann", Cursor: page.Next}
	s.stop()
	s.mount()
	s.start()
	if page, err := f.Timeline(t.Context(), older); err != nil || len(page.Tweets) != 8 {
		t.Errorf("with the key of before: %d posts, %v", len(page.Tweets), err)
	}
	s.stop()
	s.options.CursorKey = "another key of the tests"
	s.mount()
	s.start()
	var status *fetcher.StatusError
	if _, err := f.Timeline(t.Context(), older); !errors.As(err, &status) || status.Code != http.StatusUnprocessableEntity {
		t.Errorf("with another key: %v, want status 422", err)
	}
	if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{UserID: "100001"}); err == nil || !strings.Contains(err.Error(), "Username") {
		t.Errorf("without a name: %v", err)
	}
}

// Behind Since there is nothing to read; a page that is the same leads on for an older
// Since again.
func TestSince(t *testing.T) {
	p := newPlatform()
	start := time.Now().Add(-time.Hour).Truncate(time.Second)
	for i := range 20 {
		p.PostAt("ann", fmt.Sprint(i), start.Add(time.Duration(i)*time.Minute), time.Time{})
	}
	s := newService(t, p)
	s.start()
	defer s.stop()
	f := newFetcher(t, serve(t, s).Client(), s.key.Secret)
	var known uint64
	for _, c := range []struct {
		name  string
		since time.Time
		next  bool
		reach time.Time
	}{
		{"none", time.Time{}, true, start.Add(13 * time.Minute)},
		{"on the page", start.Add(15 * time.Minute), false, start.Add(15 * time.Minute)},
		{"at the second to last post", start.Add(13 * time.Minute), true, start.Add(13 * time.Minute)},
		{"behind it", start.Add(5 * time.Minute), true, start.Add(13 * time.Minute)},
	} {
		for _, k := range []uint64{0, known} {
			page, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: "ann", Since: c.since, Known: k, Seen: func(string) bool { return false }})
			if err != nil {
				t.Fatal(err)
			}
			if (page.Next != "") != c.next || !page.OldestAt.Equal(c.reach) || page.Unchanged != (k != 0) || len(page.Tweets)+page.Skipped != 8 {
				t.Errorf("%s, known %t: %d posts, Next %q, OldestAt %s; want Next %t, %s", c.name, k != 0, len(page.Tweets)+page.Skipped, page.Next, page.OldestAt, c.next, c.reach)
			}
			known = page.Version
			seen, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: "ann", Since: c.since, Seen: func(string) bool { return true }})
			if err != nil || len(seen.Tweets) != 0 || seen.Skipped != 8 || !seen.OldestAt.Equal(page.OldestAt) || seen.Next != page.Next || seen.UserID != page.UserID {
				t.Errorf("%s: of a page of known posts %+v, %v", c.name, seen, err)
			}
			if page.ServerTime.IsZero() || page.RateLimit.Known || page.UserID != "100001" {
				t.Errorf("%s: ServerTime %s, RateLimit %+v, UserID %q", c.name, page.ServerTime, page.RateLimit, page.UserID)
			}
		}
	}
}

// A post comes as it is at the other service, apart from what its timelines do not tell.
func TestPosts(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 250_000_000, time.UTC)
	second := at.Truncate(time.Second)
	post := func(id, user, name string, at time.Time) fetcher.Tweet {
		return fetcher.Tweet{ID: id, Text: "<3 & " + id, FullText: "<3 & more", CreatedAt: fetcher.FormatTime(at), UserID: user, Username: name, PublishedAt: at,
			User: &fetcher.User{ID: user, Username: name}, Media: []fetcher.Media{{Type: "photo", Width: 3}}}
	}
	snowflake := fmt.Sprint(fetcher.SnowflakeAt(at))
	src := &answers{page: fetcher.Page{Tweets: []fetcher.Tweet{
		post(snowflake, "7", "Ann", at),
		post("at://did:plc:ann/app.bsky.feed.post/3k", "7", "ann", at),
		post("114088123456789012", "7", "ann", at), // a Mastodon's
		{ID: "no time", Text: "x", Username: "ann", UserID: "7"},
	}}}
	s := newService(t, src)
	s.start()
	defer s.stop()
	f := newFetcher(t, serve(t, s).Client(), s.key.Secret)
	page, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: "ann"})
	if err != nil || len(page.Tweets) != 4 {
		t.Fatal(page, err)
	}
	for i, want := range []time.Time{at, second, second, {}} {
		if got := page.Tweets[i].PublishedAt; !got.Equal(want) {
			t.Errorf("post %d is of %s, want %s", i, got, want)
		}
	}
	want := src.page.Tweets[0]
	got := page.Tweets[0]
	if string(got.AppendJSON(nil)) != string(want.AppendJSON(nil)) {
		t.Errorf("got  %s\nwant %s", got.AppendJSON(nil), want.AppendJSON(nil))
	}
	// Names that the service writes in another way.
	for _, c := range []struct {
		asked string
		posts []fetcher.Tweet
		want  string
	}{
		{"ann", []fetcher.Tweet{post("1", "9", "bob", at), post("2", "7", "@ANN", at)}, "7"},
		{"ann@here.example", []fetcher.Tweet{post("1", "7", "ann", at), post("2", "7", "ann", at)}, "7"},
		{"ann@here.example", []fetcher.Tweet{post("1", "7", "ann", at), post("2", "9", "bob", at)}, ""},
		{"ann", nil, ""},
	} {
		src.page.Tweets = c.posts
		if page, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: c.asked}); err != nil || page.UserID != c.want {
			t.Errorf("%s: UserID %q, %v, want %q", c.asked, page.UserID, err, c.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for want, cfg := range map[string]remote.Config{
		"Key is missing":    {BaseURL: "https://h.example"},
		"BaseURL":           {Key: "k"},
		`Segment "So/cial"`: {BaseURL: "https://h.example", Key: "k", Segment: "So/cial"},
		"Token ***":         {BaseURL: "https://h.example", Key: "k\n"},
		"MaxPages -1":       {BaseURL: "https://h.example", Key: "k", MaxPages: -1},
		"MaxBody -1":        {BaseURL: "https://h.example", Key: "k", MaxBody: -1},
	} {
		if _, err := remote.New(cfg); err == nil || !strings.HasPrefix(err.Error(), "remote: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one that names %s", err, want)
		}
	}
	for want, cfg := range map[string]remote.StreamConfig{
		"Key is missing": {BaseURL: "https://h.example"},
		"BaseURL":        {Key: "k"},
		`Segment "x y"`:  {BaseURL: "https://h.example", Key: "k", Segment: "x y"},
		"Timeout of 1ns": {BaseURL: "https://h.example", Key: "k", HTTP: &http.Client{Timeout: 1}},
	} {
		if _, err := remote.NewStream(cfg); err == nil || !strings.HasPrefix(err.Error(), "remote: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one that names %s", err, want)
		}
	}
}

func TestKeyPrintsAsStars(t *testing.T) {
	cfg, scfg := remote.Config{BaseURL: "https://h.example", Key: "s3cret"}, remote.StreamConfig{BaseURL: "https://h.example", Key: "s3cret"}
	f, err := remote.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := remote.NewStream(scfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{cfg, scfg, f, *f, s, &cfg} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, "s3cret") {
				t.Errorf("%s of %T shows the key: %s", verb, v, text)
			}
		}
	}
}
