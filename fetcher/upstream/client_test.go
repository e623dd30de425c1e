package upstream

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/fetcher"
)

// serve starts a loopback server and a client of it; change adjusts the
// client's configuration before it is made.
func serve(t *testing.T, h http.HandlerFunc, change func(*Config)) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	cfg := Config{BaseURL: srv.URL, Now: func() time.Time { return noon }}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name string
		cfg  Config
		want string // part of the error
	}{
		{"no base", Config{}, "BaseURL"},
		{"a base without a scheme", Config{BaseURL: "mastodon.social"}, "http:// or https://"},
		{"another scheme", Config{BaseURL: "ftp://example.com"}, "http:// or https://"},
		{"a base that is no URL", Config{BaseURL: "http://[::1"}, "not a URL"},
		{"a password in the base", Config{BaseURL: "https://me:hunter2@example.com"}, "use Token"},
		{"a negative cap", Config{BaseURL: "https://example.com", MaxBody: -1}, "MaxBody -1"},
		{"a cap over 1 GiB", Config{BaseURL: "https://example.com", MaxBody: 1<<30 + 1}, "MaxBody"},
		{"a line break in the token", Config{BaseURL: "https://example.com", Token: "hunter2\r\nX: y"}, "Token"},
		{"a header that is none", Config{BaseURL: "https://example.com", TokenHeader: "x y"}, `TokenHeader "x y"`},
		{"a line break in the agent", Config{BaseURL: "https://example.com", UserAgent: "a\nb"}, "UserAgent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(tt.cfg)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "upstream: ") {
				t.Errorf("error %v, want one of upstream that names %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func TestRequestCarries(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		header http.Header
		want   map[string]string
	}{
		{"its defaults", nil, nil, map[string]string{"User-Agent": DefaultUserAgent, "Accept": "application/json", "Authorization": ""}},
		{"a user agent", func(c *Config) { c.UserAgent = "me/1" }, nil, map[string]string{"User-Agent": "me/1"}},
		{"a bearer token", func(c *Config) { c.Token = "t0k" }, nil, map[string]string{"Authorization": "Bearer t0k"}},
		{"a token in a header of its own", func(c *Config) { c.Token, c.TokenHeader = "t0k", "X-Api-Key" }, nil, map[string]string{"X-Api-Key": "t0k", "Authorization": ""}},
		{"the caller's fields", nil, http.Header{"If-None-Match": {"x"}}, map[string]string{"If-None-Match": "x", "Accept": "application/json"}},
		{"the caller's Accept", nil, http.Header{"accept": {"text/xml"}}, map[string]string{"Accept": "text/xml"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got http.Header
			c := serve(t, func(w http.ResponseWriter, r *http.Request) { got = r.Header.Clone() }, tt.change)
			if _, err := c.Get(t.Context(), "/x?y=1", tt.header); err != nil {
				t.Fatal(err)
			}
			for k, v := range tt.want {
				if got.Get(k) != v {
					t.Errorf("%s = %q, want %q", k, got.Get(k), v)
				}
			}
		})
	}
}

func TestGetRefusesOtherServers(t *testing.T) {
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was made") }, nil)
	for _, path := range []string{"https://evil.example/x", "//evil.example/x", "%zz", "/users/../x", "/users/./x", "/users/..?a=b", "../x"} {
		if _, err := c.Get(t.Context(), path, nil); err == nil {
			t.Errorf("Get(%q) was allowed", path)
		}
	}
}

func TestAnswer(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", "Sun, 01 Mar 2026 11:59:58 GMT")
		w.Header().Set("X-RateLimit-Limit", "300")
		w.Header().Set("X-RateLimit-Remaining", "12")
		w.Header().Set("X-RateLimit-Reset", "2026-03-01T12:05:00.000000Z")
		io.WriteString(w, r.URL.RequestURI())
	}, nil)
	resp, err := c.Get(t.Context(), "/api?q=a%20b", nil)
	if err != nil {
		t.Fatal(err)
	}
	if string(resp.Body) != "/api?q=a%20b" {
		t.Errorf("body %q", resp.Body)
	}
	if want := noon.Add(-2 * time.Second); !resp.ServerTime.Equal(want) {
		t.Errorf("ServerTime %v, want %v", resp.ServerTime, want)
	}
	if rl := resp.RateLimit; !rl.Known || rl.Limit != 300 || rl.Remaining != 12 || !rl.Reset.Equal(noon.Add(5*time.Minute)) {
		t.Errorf("RateLimit %+v", rl)
	}
	if !strings.HasPrefix(c.Host(), "127.0.0.1:") {
		t.Errorf("Host %q", c.Host())
	}
}

func TestStatusBecomesError(t *testing.T) {
	limited := func(d time.Duration) error { return &fetcher.RateLimitError{RetryAfter: d} }
	tests := []struct {
		name   string
		code   int
		header map[string]string
		want   error
	}{
		{"401", 401, nil, fetcher.ErrUnauthorized},
		{"403", 403, nil, fetcher.ErrProtected},
		{"404", 404, nil, fetcher.ErrNotFound},
		{"410", 410, nil, fetcher.ErrNotFound},
		{"429 without a word", 429, nil, limited(0)},
		{"429 with Retry-After", 429, map[string]string{"Retry-After": "30"}, limited(30 * time.Second)},
		{"429 with the window's end only", 429, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2026-03-01T12:05:00.000000Z"}, limited(5 * time.Minute)},
		{"429 with both: Retry-After counts", 429, map[string]string{"Retry-After": "30", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2026-03-01T12:05:00Z"}, limited(30 * time.Second)},
		{"429 with an end that has passed", 429, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2026-03-01T11:05:00Z"}, limited(0)},
		{"500", 500, nil, &fetcher.StatusError{Code: 500, Detail: "why not"}},
		{"503 with Retry-After", 503, map[string]string{"Retry-After": "7"}, &fetcher.StatusError{Code: 503, RetryAfter: 7 * time.Second, Detail: "why not"}},
		{"304 to a request without a condition", 304, nil, &fetcher.StatusError{Code: 304, Detail: "not modified, but the request had no condition"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				for k, v := range tt.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(tt.code)
				io.WriteString(w, "why\n  not")
			}, nil)
			_, err := c.Get(t.Context(), "/", nil)
			var gotLimit, wantLimit *fetcher.RateLimitError
			var gotStatus, wantStatus *fetcher.StatusError
			switch {
			case errors.As(tt.want, &wantLimit):
				if !errors.As(err, &gotLimit) || *gotLimit != *wantLimit {
					t.Errorf("got %v, want %v", err, tt.want)
				}
			case errors.As(tt.want, &wantStatus):
				if !errors.As(err, &gotStatus) || *gotStatus != *wantStatus {
					t.Errorf("got %v, want %v", err, tt.want)
				}
			case !errors.Is(err, tt.want):
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestDetailOfAnError(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"one line", "a\r\n\tb\u2028c", "a b c"},
		{"at most 256 bytes", strings.Repeat("x", 5000), strings.Repeat("x", 256)},
		{"whole runes", "x" + strings.Repeat("é", 500), "x" + strings.Repeat("é", 127)},
		{"no control characters", "a\x1b[31mb\x00", "a[31mb"},
		{"no invalid UTF-8", strings.Repeat("a\xff", 200), strings.Repeat("a", 200)},
		{"no token", `{"error":"bad token t0k"}`, `{"error":"bad token ***"}`},
		{"no token at the cut", strings.Repeat("x", 254) + "t0k", strings.Repeat("x", 254) + "**"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(500)
				io.WriteString(w, tt.body)
			}, func(c *Config) { c.Token = "t0k" })
			_, err := c.Get(t.Context(), "/", nil)
			var s *fetcher.StatusError
			if !errors.As(err, &s) || s.Detail != tt.want {
				t.Fatalf("got %v, want detail %q", err, tt.want)
			}
			if len(s.Detail) > 256 || !utf8.ValidString(s.Detail) {
				t.Errorf("detail of %d bytes, valid %v", len(s.Detail), utf8.ValidString(s.Detail))
			}
		})
	}
}

func TestBodyIsWholeOrAnError(t *testing.T) {
	zip := func(w http.ResponseWriter, n int) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, strings.Repeat("0", n))
		z.Close()
	}
	tests := []struct {
		name string
		h    http.HandlerFunc
		ok   bool
	}{
		{"exactly the cap", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("0", 1000)) }, true},
		{"a byte over the cap", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("0", 1001)) }, false},
		{"compressed, within the cap", func(w http.ResponseWriter, _ *http.Request) { zip(w, 1000) }, true},
		{"small when compressed only", func(w http.ResponseWriter, _ *http.Request) { zip(w, 1_000_000) }, false},
		{"shorter than announced", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "900")
			io.WriteString(w, "short")
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, tt.h, func(c *Config) { c.MaxBody = 1000 })
			resp, err := c.Get(t.Context(), "/", nil)
			if tt.ok && (err != nil || len(resp.Body) != 1000) {
				t.Errorf("error %v", err)
			}
			if !tt.ok && !errors.Is(err, fetcher.ErrMalformed) {
				t.Errorf("error %v, want ErrMalformed", err)
			}
		})
	}
}

func TestNotModified(t *testing.T) {
	for _, condition := range []string{"If-None-Match", "If-Modified-Since"} {
		t.Run(condition, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", "Sun, 01 Mar 2026 11:59:58 GMT")
				w.Header().Set("X-RateLimit-Limit", "300")
				w.Header().Set("X-RateLimit-Remaining", "12")
				w.WriteHeader(http.StatusNotModified)
			}, nil)
			resp, err := c.Get(t.Context(), "/", http.Header{condition: {"x"}})
			if err != nil {
				t.Fatal(err)
			}
			if !resp.NotModified || len(resp.Body) != 0 {
				t.Errorf("not modified %t with %d bytes", resp.NotModified, len(resp.Body))
			}
			if !resp.RateLimit.Known || resp.RateLimit.Remaining != 12 || !resp.ServerTime.Equal(noon.Add(-2*time.Second)) {
				t.Errorf("rate limit %+v, server time %s", resp.RateLimit, resp.ServerTime)
			}
		})
	}
}

// half sends the start of a body, and then nothing until the client disconnects.
func half(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "900")
	io.WriteString(w, "short")
	http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func TestSlowBodyIsNotMalformed(t *testing.T) {
	t.Run("the caller's context ends", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			cancel()
			half(w, r)
		}, nil)
		if _, err := c.Get(ctx, "/", nil); !errors.Is(err, context.Canceled) || errors.Is(err, fetcher.ErrMalformed) {
			t.Errorf("error %v, want context.Canceled", err)
		}
	})
	t.Run("the client's time-out passes", func(t *testing.T) {
		c := serve(t, half, func(c *Config) { c.HTTP = &http.Client{Timeout: 200 * time.Millisecond} })
		_, err := c.Get(t.Context(), "/", nil)
		if err == nil || !isTimeout(err) || errors.Is(err, fetcher.ErrMalformed) {
			t.Errorf("error %v, want a time-out", err)
		}
	})
}

func TestRedirects(t *testing.T) {
	tests := []struct {
		name    string
		away    bool // to another host, else to a path of the same
		change  func(*Config)
		follows bool
	}{
		{"same host, own client", false, nil, true},
		{"other host, own client", true, nil, false},
		{"other host, own client, token", true, func(c *Config) { c.Token = "t0k" }, false},
		{"same host, given client, token", false, func(c *Config) { c.Token = "t0k"; c.HTTP = &http.Client{} }, true},
		{"other host, given client, token", true, func(c *Config) { c.Token = "t0k"; c.HTTP = &http.Client{} }, false},
		{"other host, given client, token in a header of its own", true, func(c *Config) { c.Token, c.TokenHeader, c.HTTP = "t0k", "X-Api-Key", &http.Client{} }, false},
		{"other host, given client, no token", true, func(c *Config) { c.HTTP = &http.Client{} }, true},
		{"same host, a given client that refuses", false, func(c *Config) {
			c.Token = "t0k"
			c.HTTP = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var leaked string
			other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				leaked = r.Header.Get("Authorization") + r.Header.Get("X-Api-Key")
				io.WriteString(w, "ok")
			}))
			defer other.Close()
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/there":
					io.WriteString(w, "ok")
				case tt.away:
					http.Redirect(w, r, other.URL+"/", http.StatusFound)
				default:
					http.Redirect(w, r, "/there", http.StatusFound)
				}
			}, tt.change)
			_, err := c.Get(t.Context(), "/", nil)
			var s *fetcher.StatusError
			if tt.follows && err != nil {
				t.Errorf("error %v, want the redirect followed", err)
			}
			if !tt.follows && (!errors.As(err, &s) || s.Code != http.StatusFound) {
				t.Errorf("error %v, want status 302", err)
			}
			if leaked != "" {
				t.Errorf("the other host got %q", leaked)
			}
		})
	}
	t.Run("a circle ends", func(t *testing.T) {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) }, nil)
		if _, err := c.Get(t.Context(), "/", nil); err == nil || !strings.Contains(err.Error(), "more than 4 redirects") {
			t.Errorf("error %v", err)
		}
	})
}

func TestGivenClientIsNotChanged(t *testing.T) {
	given := &http.Client{}
	if _, err := New(Config{BaseURL: "https://example.com", Token: "t0k", HTTP: given}); err != nil {
		t.Fatal(err)
	}
	if given.CheckRedirect != nil {
		t.Error("New changed the caller's client")
	}
}

func TestTokenPrintsAsStars(t *testing.T) {
	cfg := Config{BaseURL: "https://example.com", Token: "t0k"}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{cfg, &cfg, struct{ C Config }{cfg}, c, *c} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			if s := fmt.Sprintf(verb, v); strings.Contains(s, "t0k") {
				t.Errorf("%s of %T shows the token: %s", verb, v, s)
			}
		}
	}
	if s := fmt.Sprintf("%+v", cfg); !strings.Contains(s, "Token:***") || !strings.Contains(s, "BaseURL:https://example.com") {
		t.Errorf("%%+v = %s", s)
	}
}

func TestServerThatIsAway(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	c, err := New(Config{BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), "/", nil); err == nil || !strings.HasPrefix(err.Error(), "upstream: ") {
		t.Errorf("error %v", err)
	}
}
