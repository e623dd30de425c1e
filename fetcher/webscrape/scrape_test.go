package webscrape

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		cfg        Config
	}{
		{"a negative time", "Timeout -1s", Config{Timeout: -time.Second}},
		{"a time without end", "Timeout 1h0m0s", Config{Timeout: time.Hour}},
		{"a negative cap", "MaxBody -1", Config{MaxBody: -1}},
		{"a cap over the bound", "MaxBody 16777217", Config{MaxBody: 16<<20 + 1}},
		{"fewer than no calls", "MaxConcurrent -1", Config{MaxConcurrent: -1}},
		{"calls over the bound", "MaxConcurrent 1025", Config{MaxConcurrent: 1025}},
		{"a header in the agent", "UserAgent", Config{UserAgent: "a\r\nb: c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := New(tt.cfg); err == nil || !strings.HasPrefix(err.Error(), "webscrape: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that names %s", err, tt.want)
			}
		})
	}
}

func TestQueriesRefused(t *testing.T) {
	public, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, url, format, field string }{
		{"no address", "", "", "url"},
		{"an address without end", "https://example.com/" + strings.Repeat("a", 2048), "", "url"},
		{"no scheme", "example.com/x", "", "url"},
		{"a file", "file:///etc/passwd", "", "url"},
		{"another scheme", "gopher://example.com/", "", "url"},
		{"no host", "http:///x", "", "url"},
		{"a password", "https://user:pa55@example.com/?token=pa55", "", "url"},
		{"a port of no web server", "http://example.com:25/", "", "url"},
		{"a port written oddly", "http://example.com:0443/", "", "url"},
		{"a port left out", "http://example.com:/", "", "url"},
		{"loopback", "http://127.0.0.1/", "", "url"},
		{"loopback by name", "http://localhost/", "", "url"},
		{"loopback in IPv6", "http://[::1]:8080/", "", "url"},
		{"loopback mapped into IPv6", "http://[::ffff:127.0.0.1]/", "", "url"},
		{"loopback in fewer parts", "http://127.1/", "", "url"},
		{"loopback as a number", "http://2130706433/", "", "url"},
		{"loopback in wide digits", "http://１２７.0.0.1/", "", "url"},
		{"cloud metadata", "http://169.254.169.254/latest/meta-data", "", "url"},
		{"a private network", "https://10.0.0.1:8443/", "", "url"},
		{"a name inside networks", "http://db.internal/", "", "url"},
		{"a name of one label", "http://intranet/", "", "url"},
		{"a space", "http://example.com/a b", "", "url"},
		{"a line break", "http://example.com/\r\nX: y", "", "url"},
		{"a backslash", `http://example.com\@10.0.0.1/`, "", "url"},
		{"a broken escape", "http://exa%zzmple.com/", "", "url"},
		{"another format", "https://example.com/", "pdf", "format"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := public.Scrape(t.Context(), fetcher.ScrapeQuery{URL: tt.url, Format: tt.format})
			var field *fetcher.ArgumentError
			if !errors.As(err, &field) || field.Field != tt.field {
				t.Errorf("error %v, want one of the field %s", err, tt.field)
			}
			if err != nil && strings.Contains(err.Error(), "pa55") {
				t.Errorf("error %v shows a secret", err)
			}
		})
	}
}

func TestQueriesTaken(t *testing.T) {
	public, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]string{
		"https://some_name.example.com/a": "https://some_name.example.com/a",
		"https://-a-.example.com/":        "https://-a-.example.com/",
		"https://qa--blog.example.com":    "https://qa--blog.example.com/",
		"https://example.com./":           "https://example.com/",
	} {
		if u, err := public.parseURL(raw); err != nil || u.String() != want {
			t.Errorf("%s: %v, %v, want %s", raw, u, err, want)
		}
	}
}

func TestStatuses(t *testing.T) {
	for _, tt := range []struct {
		status int
		want   error
	}{
		{400, nil}, {401, fetcher.ErrUnauthorized}, {403, fetcher.ErrProtected}, {404, fetcher.ErrNotFound},
		{410, fetcher.ErrNotFound}, {500, nil}, {503, nil}, {304, nil}, {302, nil},
	} {
		s := newSite(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(tt.status)
		}})
		_, err := scraper(t, nil).Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL})
		var status *fetcher.StatusError
		var page *fetcher.PageError
		if !errors.As(err, &page) || page.Refused || !strings.HasPrefix(page.Reason, fmt.Sprintf("the page answered %d", tt.status)) {
			t.Errorf("status %d gave %v, want a *PageError that names it", tt.status, err)
		}
		if tt.want != nil && !errors.Is(err, tt.want) || tt.want == nil && (!errors.As(err, &status) || status.Code != tt.status || status.RetryAfter != 7*time.Second) {
			t.Errorf("status %d gave %v, want %v", tt.status, err, tt.want)
		}
	}
	s := newSite(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	}})
	_, err := scraper(t, nil).Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL})
	var limit *fetcher.RateLimitError
	if !errors.As(err, &limit) || limit.RetryAfter != 7*time.Second || !limit.Target {
		t.Errorf("error %v, want a rate limit of the site of 7 s", err)
	}
}

func TestContentTypesRefused(t *testing.T) {
	for _, kind := range []string{"application/json", "application/pdf", "image/png", "text/css", "application/octet-stream", "text/html-sandboxed", "multipart/form-data; boundary=x"} {
		s := newSite(t, map[string]http.HandlerFunc{"/": serve(kind, "<p>a")})
		if _, err := scraper(t, nil).Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL}); !errors.Is(err, fetcher.ErrMalformed) {
			t.Errorf("%s: error %v, want ErrMalformed", kind, err)
		} else if page := (*fetcher.PageError)(nil); !errors.As(err, &page) || !page.Refused || !strings.Contains(page.Reason, strings.Split(kind, ";")[0]) {
			t.Errorf("%s: error %v, want a refusal that names it", kind, err)
		}
	}
	s := newSite(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		io.WriteString(w, "\x89PNG\x0D\x0A\x1A\x0A")
	}})
	if _, err := scraper(t, nil).Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL}); !errors.Is(err, fetcher.ErrMalformed) {
		t.Errorf("an image without a type: error %v, want ErrMalformed", err)
	}
}

func TestCompression(t *testing.T) {
	gz := func(n int) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte("<p>"))
		chunk := bytes.Repeat([]byte("a"), 1<<20)
		for ; n > 0; n -= len(chunk) {
			w.Write(chunk[:min(n, len(chunk))])
		}
		w.Close()
		return b.Bytes()
	}
	for _, tt := range []struct {
		name, encoding string
		body           []byte
		want           error
	}{
		{"gzip", "gzip", gz(1000), nil},
		{"gzip by its old name", "x-gzip", gz(1000), nil},
		{"gzip without a label", "", gz(1000), nil},
		{"what is no encoding", "aws-chunked", []byte("<p>" + strings.Repeat("a", 1000)), nil},
		{"what is no gzip", "gzip", []byte("<p>" + strings.Repeat("a", 1000)), nil},
		{"a bomb of 64 MiB", "gzip", gz(64 << 20), fetcher.ErrMalformed},
		{"a bomb without a label", "", gz(64 << 20), fetcher.ErrMalformed},
		{"an encoding nobody asked for", "br", []byte("\x8b\x02\x80abc\x03"), fetcher.ErrMalformed},
		{"gzip cut short", "gzip", gz(1000)[:20], fetcher.ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.Header().Set("Content-Encoding", tt.encoding)
				w.Write(tt.body)
			}})
			res, err := scraper(t, nil).Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL})
			if !errors.Is(err, tt.want) || err == nil && len(res.Content) != 1000 {
				t.Errorf("%d bytes, error %v, want %v", len(res.Content), err, tt.want)
			}
		})
	}
}

func TestSlowAndEndlessPages(t *testing.T) {
	tests := []struct {
		name string
		page http.HandlerFunc
		want error
	}{
		{"endless", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("a ", 1<<15)); err != nil {
					return
				}
			}
		}, fetcher.ErrMalformed},
		{"silent", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, context.DeadlineExceeded},
		{"silent after the start", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<p>a")
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, context.DeadlineExceeded},
		{"cut short", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "<p>a")
		}, fetcher.ErrMalformed},
		{"headers without end", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X", strings.Repeat("a", 100<<10))
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]http.HandlerFunc{"/": tt.page})
			timeout := time.Minute // not to be reached, however slow the machine
			if tt.want == context.DeadlineExceeded {
				timeout = 500 * time.Millisecond
			}
			_, err := scraper(t, func(c *Config) { c.Timeout, c.MaxBody, c.IgnoreRobots = timeout, 64<<10, true }).
				Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL})
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

func TestCallsAtATime(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	s := newSite(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-leave
		serve("text/html", "a")(w, r)
	}})
	sc := scraper(t, func(c *Config) { c.MaxConcurrent = 1; c.IgnoreRobots = true })
	done := make(chan error)
	go func() {
		_, err := sc.Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL})
		done <- err
	}()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := sc.Scrape(ctx, fetcher.ScrapeQuery{URL: s.URL}); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "turn") {
		t.Errorf("the second call: %v, want that it waited for its turn", err)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRequest(t *testing.T) {
	var got http.Header
	s := newSite(t, map[string]http.HandlerFunc{"/a b/ü": func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		serve("text/html", "a")(w, r)
	}})
	res, err := scraper(t, func(c *Config) { c.UserAgent = "tester/2" }).Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL + "/a%20b/ü?q=é#x"})
	if err != nil || res.URL != s.URL+"/a%20b/%C3%BC?q=%C3%A9" {
		t.Fatalf("%q, %v", res.URL, err)
	}
	if got.Get("User-Agent") != "tester/2" || !strings.HasPrefix(got.Get("Accept"), "text/html") || got.Get("Accept-Encoding") != "gzip" {
		t.Errorf("headers %v", got)
	}
	if want := []string{"/robots.txt", "/a%20b/%C3%BC?q=%C3%A9"}; !slices.Equal(s.seen(), want) {
		t.Errorf("requests %q, want %q", s.seen(), want)
	}
}
