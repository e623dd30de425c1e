package webscrape

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func TestRobotsRules(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		path       string
		want       bool
	}{
		{"no file", "", "/a", true},
		{"closed to all", "User-agent: *\nDisallow: /", "/a", false},
		{"closed to another", "User-agent: other\nDisallow: /", "/a", true},
		{"closed by name", "User-agent: StreamWatch\nDisallow: /", "/a", false},
		{"closed by name with a version", "User-agent: streamwatch/1.0\nDisallow: /", "/a", false},
		{"a longer name is another's", "User-agent: streamwatch-images\nDisallow: /", "/a", true},
		{"the own group before that of all", "User-agent: *\nDisallow: /\n\nUser-agent: streamwatch\nDisallow: /x", "/a", true},
		{"an own group without rules", "User-agent: *\nDisallow: /\nUser-agent: streamwatch\nDisallow:\n", "/a", true},
		{"several names, one group", "User-agent: other\nUser-agent: streamwatch\nDisallow: /", "/a", false},
		{"several groups of a name", "User-agent: streamwatch\nDisallow: /a\nUser-agent: x\nDisallow: /\nUser-agent: streamwatch\nDisallow: /b", "/b", false},
		{"lines between that are no rules", "User-agent: streamwatch\nCrawl-delay: soon\nSitemap: /s\nnonsense\nDisallow: /a", "/a", false},
		{"a rule before any name", "Disallow: /\nUser-agent: *\nDisallow: /x", "/a", true},
		{"the start of the path counts", "User-agent: *\nDisallow: /a", "/abc/d", false},
		{"case counts", "User-agent: *\nDisallow: /A", "/a", true},
		{"the longest rule counts", "User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", true},
		{"wherever it stands", "User-agent: *\nAllow: /a/b\nDisallow: /a", "/a/c", false},
		{"Allow at a tie", "User-agent: *\nDisallow: /a\nAllow: /a", "/a", true},
		{"any text", "User-agent: *\nDisallow: /*.pdf", "/x/y.pdf?z", false},
		{"any text, twice", "User-agent: *\nDisallow: /*a*b", "/xaxxb", false},
		{"any text goes back", "User-agent: *\nDisallow: /*ab$", "/aab", false},
		{"the end", "User-agent: *\nDisallow: /*.pdf$", "/x.pdf?z", true},
		{"the end, exactly", "User-agent: *\nDisallow: /a$", "/a", false},
		{"the end, not more", "User-agent: *\nDisallow: /a$", "/ab", true},
		{"the query counts", "User-agent: *\nDisallow: /*?q=", "/a?q=1", false},
		{"written in another way", "User-agent: *\nDisallow: /ü%c3%bc", "/%c3%bc%C3%BC", false},
		{"comments and spaces", "\ufeff  user-AGENT :  *  # all\r\n DISALLOW: /a # this\r", "/a", false},
		{"rules without a colon", "User-agent *\nDisallow /", "/a", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := parseRobots(tt.file, "streamwatch").allowed(tt.path); got != tt.want {
				t.Errorf("%s allowed: %v, want %v", tt.path, got, tt.want)
			}
		})
	}
}

func TestRobotsBounds(t *testing.T) {
	many := parseRobots("User-agent: *\n"+strings.Repeat("Disallow: /a\n", maxRules+5)+"Disallow: /b", "x")
	if len(many) != maxRules || !many.allowed("/b") {
		t.Errorf("%d rules kept, want %d", len(many), maxRules)
	}
	if long := parseRobots("User-agent: *\nDisallow: /"+strings.Repeat("a", maxRule), "x"); len(long) != 0 {
		t.Error("an endless rule is kept")
	}
	clock := time.Unix(0, 0)
	c := newRobotsCache("x", func() time.Time { return clock })
	for i := range 2000 {
		c.put(fmt.Sprint("https://", i), rules{{path: strings.Repeat("a", 100_000)}})
		if c.bytes > maxCached || len(c.origins) > maxCached/100_000 {
			t.Fatalf("%d bytes of %d files kept, want %d at most", c.bytes, len(c.origins), maxCached)
		}
	}
}

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

// FuzzMatchPath compares the matcher with regular expressions.
func FuzzMatchPath(f *testing.F) {
	for _, v := range [][2]string{{"/a*b$", "/axb"}, {"/*a*ab", "/aaab"}, {"$", ""}, {"*", "/"}, {"/a$b", "/a$b"}, {"/**x**$", "/yx"}, {"*$", ""}} {
		f.Add(v[0], v[1])
	}
	f.Fuzz(func(t *testing.T, rule, path string) {
		if len(rule) > 30 || len(path) > 100 {
			return
		}
		end := ""
		pattern := rule
		if strings.HasSuffix(pattern, "$") {
			pattern, end = strings.TrimSuffix(pattern, "$"), "$"
		}
		var b strings.Builder
		for i := range len(pattern) {
			if pattern[i] == '*' {
				b.WriteString("(?s:.*)")
			} else {
				fmt.Fprintf(&b, `\x{%02x}`, pattern[i])
			}
		}
		// Bytes are compared, so both are read as Latin-1.
		want := regexp.MustCompile(`\A` + b.String() + strings.ReplaceAll(end, "$", `\z`)).MatchString(latin1(path))
		if got := matchPath(rule, path); got != want {
			t.Errorf("rule %q, path %q: %v, want %v", rule, path, got, want)
		}
	})
}

func latin1(s string) string {
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = rune(s[i])
	}
	return string(out)
}

func FuzzRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /a", "/a")
	f.Add("user-agent:x\r\nallow:%\ndisallow:*$\n", "/%zz")
	f.Fuzz(func(t *testing.T, file, path string) {
		rs := parseRobots(file, "streamwatch")
		if rs.allowed(path) != rs.allowed(normalizePath(path)) {
			t.Errorf("%q is judged in another way once it is normal", path)
		}
		if n := normalizePath(path); normalizePath(n) != n {
			t.Errorf("%q is not normal: %q", n, normalizePath(n))
		}
	})
}
