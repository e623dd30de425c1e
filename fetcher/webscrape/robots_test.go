package webscrape

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func TestRobotsOfASite(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	closed := serve("text/plain", "User-agent: streamwatch\nDisallow: /")
	elsewhere := newSite(t, map[string]http.HandlerFunc{"/robots.txt": closed, "/": serve("text/html", "a")})
	for _, tt := range []struct {
		name   string
		robots http.HandlerFunc
		ignore bool
		want   error // nil: allowed
		code   int   // of a *fetcher.StatusError
	}{
		{"open", serve("text/plain", "User-agent: *\nAllow: /"), false, nil, 0},
		{"closed", closed, false, ErrDisallowed, 0},
		{"closed is protected", closed, false, fetcher.ErrProtected, 0},
		{"closed and ignored", closed, true, nil, 0},
		{"missing", status(404), false, nil, 0},
		{"forbidden", status(403), false, nil, 0},
		{"broken", status(503), false, nil, 503},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/robots.txt", http.StatusFound)
		}, false, ErrDisallowed, 0},
		{"endless: the start counts", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "User-agent: *\nDisallow: /\n"+strings.Repeat("#", 2*maxRobots))
		}, false, ErrDisallowed, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, map[string]http.HandlerFunc{"/robots.txt": tt.robots, "/": serve("text/html", "a")})
			res, err := scraper(t, func(c *Config) { c.IgnoreRobots = tt.ignore }).Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL})
			var se *fetcher.StatusError
			switch {
			case tt.code != 0:
				if !errors.As(err, &se) || se.Code != tt.code {
					t.Errorf("error %v, want status %d", err, tt.code)
				}
			case !errors.Is(err, tt.want), err == nil && res.Content != "a":
				t.Errorf("%q, error %v, want %v", res.Content, err, tt.want)
			}
			if err != nil && slices.Contains(s.seen(), "/") {
				t.Error("the page was requested all the same")
			}
		})
	}
	t.Run("of a redirect's target", func(t *testing.T) {
		s := newSite(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }})
		if _, err := scraper(t, nil).Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL}); !errors.Is(err, ErrDisallowed) {
			t.Errorf("error %v, want ErrDisallowed", err)
		}
		if slices.Contains(elsewhere.seen(), "/") {
			t.Error("the target was requested all the same")
		}
	})
	t.Run("remembered for an hour", func(t *testing.T) {
		clock := time.Unix(0, 0)
		s := newSite(t, map[string]http.HandlerFunc{"/": serve("text/html", "a")})
		sc := scraper(t, func(c *Config) { c.Now = func() time.Time { return clock } })
		for _, after := range []time.Duration{0, time.Hour - 1, time.Hour} {
			clock = time.Unix(0, 0).Add(after)
			if _, err := sc.Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL}); err != nil {
				t.Fatal(err)
			}
		}
		if want := []string{"/robots.txt", "/", "/", "/robots.txt", "/"}; !slices.Equal(s.seen(), want) {
			t.Errorf("requests %q, want %q", s.seen(), want)
		}
	})
}
