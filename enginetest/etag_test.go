package enginetest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
)

func TestHandlerConditions(t *testing.T) {
	c := newClock()
	p := newPlatform(c, enginetest.PlatformConfig{RateLimit: 300, RateWindow: 5 * time.Minute})
	p.Post("nasa", "one")
	base := serve(t, p)
	first, _, _ := get(t, http.DefaultClient, base+statuses)
	tag := first.Header.Get("ETag")
	c.advance(time.Second)
	p.Post("nasa", "two")
	other, _, _ := get(t, http.DefaultClient, base+statuses)
	newest := other.Header.Get("ETag")
	for _, tc := range []struct {
		name, condition string
		code            int
	}{
		{"no condition", "", 200},
		{"the tag", newest, 304},
		{"the tag without its mark of weakness", newest[2:], 304},
		{"one of several tags", `"x", ` + newest, 304},
		{"any tag", "*", 304},
		{"the tag before the last post", tag, 200},
		{"another tag", `"x"`, 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+statuses, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("If-None-Match", tc.condition)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != tc.code || resp.Header.Get("ETag") != newest || resp.Header.Get("X-RateLimit-Limit") != "300" {
				t.Errorf("%d with %v, want %d with a tag and a limit", resp.StatusCode, resp.Header, tc.code)
			}
		})
	}
}

// An adapter that knows a page gets no second copy of it, and a new post in any
// case.
func TestHandlerSparesAnAdapterWhatItKnows(t *testing.T) {
	c := newClock()
	p := newPlatform(c, enginetest.PlatformConfig{})
	p.Post("nasa", "one")
	m, err := mastodon.New(mastodon.Config{BaseURL: serve(t, p), Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	q := fetcher.TimelineQuery{Username: "nasa", Seen: func(string) bool { return false }}
	for i, tc := range []struct {
		post      string // published before the call, "" for none
		unchanged bool
		tweets    int
	}{{"", false, 1}, {"", true, 0}, {"two", false, 2}, {"", true, 0}} {
		if c.advance(time.Second); tc.post != "" {
			p.Post("nasa", tc.post)
		}
		page, err := m.Timeline(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if page.Unchanged != tc.unchanged || len(page.Tweets) != tc.tweets {
			t.Errorf("call %d: unchanged %t, %d posts, want %t, %d", i, page.Unchanged, len(page.Tweets), tc.unchanged, tc.tweets)
		}
		q.Known = page.Version
	}
}
