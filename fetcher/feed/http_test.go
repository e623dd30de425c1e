package feed_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
)

const feedURL = "https://example.com/feed"

// server answers requests by a function, and notes them.
type server struct {
	mu       sync.Mutex
	answer   func(w http.ResponseWriter, r *http.Request)
	requests []*http.Request
	times    []time.Time
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.times = append(s.requests, r), append(s.times, time.Now())
	w := httptest.NewRecorder()
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	s.answer(w, r)
	return w.Result(), r.Context().Err()
}

// serving makes a Fetcher of a server; change may be nil.
func serving(t testing.TB, change func(*feed.Config), answer http.HandlerFunc) (*feed.Fetcher, *server) {
	t.Helper()
	s := &server{answer: answer}
	cfg := feed.Config{Transport: s, HostGap: time.Nanosecond}
	if change != nil {
		change(&cfg)
	}
	f, err := feed.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f, s
}

// items is a feed with items by guid, newest first.
func items(guids ...string) string {
	var b strings.Builder
	for _, g := range guids {
		fmt.Fprintf(&b, `<item><guid isPermaLink="false">%s</guid><title>%s</title><pubDate>Mon, 02 Mar 2026 12:00:00 GMT</pubDate></item>`, g, g)
	}
	return "<rss><channel><title>A feed</title>" + b.String() + "</channel></rss>"
}

// reader reads a feed as an engine does.
type reader struct {
	t    testing.TB
	f    *feed.Fetcher
	q    fetcher.TimelineQuery
	seen map[string]bool
}

func newReader(t testing.TB, f *feed.Fetcher) *reader {
	r := &reader{t, f, fetcher.TimelineQuery{Username: feedURL}, map[string]bool{}}
	r.q.Seen = func(id string) bool { return r.seen[id] }
	return r
}

func (r *reader) try() (fetcher.Page, error) {
	page, err := r.f.Timeline(r.t.Context(), r.q)
	if err != nil {
		return page, err
	}
	r.q.Known = page.Version
	for i := range page.Tweets {
		r.seen[page.Tweets[i].ID] = true
	}
	return page, nil
}

func (r *reader) read() fetcher.Page {
	r.t.Helper()
	page, err := r.try()
	if err != nil {
		r.t.Fatal(err)
	}
	return page
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// A validator goes back byte for byte, and a 304 is no change, with or without a body.
func TestValidators(t *testing.T) {
	for _, tag := range []string{`"a"`, `W/"a"`, `"a-gzip"`, `"ü"`} {
		f, s := serving(t, nil, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", tag)
			if r.Header.Get("If-None-Match") == tag {
				w.WriteHeader(http.StatusNotModified)
				io.WriteString(w, items("x"))
				return
			}
			io.WriteString(w, items("a"))
		})
		r := newReader(t, f)
		r.read()
		if again := r.read(); !again.Unchanged || again.Skipped != 1 || s.requests[1].Header.Get("If-None-Match") != tag {
			t.Errorf("tag %s: %+v", tag, again)
		}
	}
	f, s := serving(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Last-Modified", "Mon, 02 Mar 2026 12:00:00 GMT")
		io.WriteString(w, items("a"))
	})
	r := newReader(t, f)
	r.read()
	r.read()
	if got := s.requests[1].Header; got.Get("If-Modified-Since") != "Mon, 02 Mar 2026 12:00:00 GMT" || got.Get("If-None-Match") != "" {
		t.Errorf("header %v", got)
	}
}

// A tag that changes with every answer does not hide that the body is the same.
func TestRestlessTags(t *testing.T) {
	n := 0
	f, _ := serving(t, nil, func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, n))
		io.WriteString(w, items("a"))
	})
	r := newReader(t, f)
	r.read()
	for range 3 {
		if page := r.read(); !page.Unchanged {
			t.Errorf("%+v, want it unchanged", page)
		}
	}
}

// A 304 that nobody asked for says nothing.
func TestUnasked304(t *testing.T) {
	f, _ := serving(t, nil, status(http.StatusNotModified))
	var se *fetcher.StatusError
	if _, err := newReader(t, f).try(); !errors.As(err, &se) || se.Code != 304 {
		t.Errorf("error %v, want status 304", err)
	}
}

// Permanent redirects at the beginning are remembered until the feed is not there any
// more; validators belong to the URL that gave them.
func TestRedirects(t *testing.T) {
	gone := false
	f, s := serving(t, nil, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.String() {
		case feedURL:
			if gone {
				io.WriteString(w, items("a", "b"))
				return
			}
			http.Redirect(w, r, "/moved", http.StatusMovedPermanently)
		case "https://example.com/moved":
			http.Redirect(w, r, "https://cdn.example.com/1", http.StatusPermanentRedirect)
		case "https://cdn.example.com/1":
			if gone {
				http.NotFound(w, r)
				return
			}
			http.Redirect(w, r, "https://node.example.com/x", http.StatusFound)
		case "https://node.example.com/x":
			w.Header().Set("ETag", `"1"`)
			if r.Header.Get("If-None-Match") == `"1"` {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			io.WriteString(w, items("a"))
		}
	})
	r := newReader(t, f)
	first := r.read()
	if again := r.read(); !again.Unchanged {
		t.Errorf("%+v, want it unchanged", again)
	}
	var got []string
	for _, req := range s.requests {
		got = append(got, req.URL.Host+req.URL.Path+req.Header.Get("If-None-Match"))
	}
	want := []string{"example.com/feed", "example.com/moved", "cdn.example.com/1", "node.example.com/x", "cdn.example.com/1", `node.example.com/x"1"`}
	if !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
	if b := f.Bucket(fetcher.Call{Role: fetcher.RoleTimeline, Account: fetcher.Account{Username: feedURL}}); b != "cdn.example.com" {
		t.Errorf("bucket %q, want the host that the feed has moved to", b)
	}
	gone = true
	if _, err := r.try(); !errors.Is(err, fetcher.ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
	page := r.read()
	if len(page.Tweets) != 1 || page.Skipped != 1 || page.UserID != first.UserID {
		t.Errorf("%+v, want one new entry of the same account", page)
	}
}

func TestRedirectsThatAreNotFollowed(t *testing.T) {
	for _, to := range []string{"http://127.0.0.1/", "ftp://example.com/", "http://[::1]/", "https://u:p@example.com/", "https://example.com:9/", "/feed", "https://" + strings.Repeat("a", 3000) + ".com/"} {
		f, s := serving(t, nil, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
		if _, err := newReader(t, f).try(); err == nil || len(s.requests) > 6 {
			t.Errorf("%s: error %v after %d requests", to, err, len(s.requests))
		}
	}
}

// The default transport connects to public addresses only.
func TestPrivateAddresses(t *testing.T) {
	inside := httptest.NewServer(status(http.StatusOK))
	defer inside.Close()
	f, err := feed.New(feed.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var bad *fetcher.ArgumentError
	if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: inside.URL + "/feed"}); !errors.As(err, &bad) {
		t.Errorf("error %v, want an ArgumentError", err)
	}
	open, err := feed.New(feed.Config{AllowPrivate: true, HostGap: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.Timeline(t.Context(), fetcher.TimelineQuery{Username: "http://169.254.169.254/feed"}); !errors.As(err, &bad) {
		t.Errorf("metadata service: error %v, want an ArgumentError", err)
	}
	if _, err := open.Timeline(t.Context(), fetcher.TimelineQuery{Username: inside.URL + "/feed"}); !errors.Is(err, fetcher.ErrMalformed) {
		t.Errorf("with AllowPrivate: error %v, want that of an empty document", err)
	}
}

// A 410 is believed after hours of nothing else.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		code := http.StatusGone
		f, _ := serving(t, nil, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(code) })
		r := newReader(t, f)
		check := func(after time.Duration, believed bool) {
			t.Helper()
			<-time.After(after)
			_, err := r.try()
			var se *fetcher.StatusError
			if errors.Is(err, fetcher.ErrNotFound) != believed || !errors.As(err, &se) || se.Code != http.StatusGone || se.RetryAfter < time.Hour {
				t.Errorf("error %v, believed %t, want %t", err, errors.Is(err, fetcher.ErrNotFound), believed)
			}
		}
		check(0, false)
		check(5*time.Hour, false)
		code = http.StatusInternalServerError
		r.try()
		code = http.StatusGone
		check(2*time.Hour, false) // it was there in between, if not well
		check(6*time.Hour, true)
		check(24*time.Hour, true)
	})
}

// Retry-After is waited for without a request.
func TestRetryAfter(t *testing.T) {
	for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			refuse := true
			f, s := serving(t, func(c *feed.Config) { c.MaxPause = -1 }, func(w http.ResponseWriter, r *http.Request) {
				if refuse {
					w.Header().Set("Retry-After", "600")
					w.WriteHeader(code)
					return
				}
				io.WriteString(w, items("a"))
			})
			r := newReader(t, f)
			_, err := r.try()
			var limit *fetcher.RateLimitError
			var se *fetcher.StatusError
			switch {
			case code == 429 && (!errors.As(err, &limit) || limit.RetryAfter != 10*time.Minute || limit.Target):
				t.Errorf("error %v, want a limit of the host for 10 minutes", err)
			case code == 503 && (!errors.As(err, &se) || se.RetryAfter != 10*time.Minute):
				t.Errorf("error %v, want status 503 for 10 minutes", err)
			}
			refuse = false
			<-time.After(4 * time.Minute)
			if _, err := r.try(); !errors.As(err, &limit) || limit.RetryAfter != 6*time.Minute || !limit.Target || len(s.requests) != 1 {
				t.Errorf("error %v after %d requests, want to wait for 6 minutes more", err, len(s.requests))
			}
			<-time.After(6 * time.Minute)
			r.read()
		})
	}
}

// A feed that is not to be read yet is answered for from memory, as of when it was read.
func TestPauses(t *testing.T) {
	const ttl = "<ttl>60</ttl>"
	for _, tt := range []struct {
		name, header, value, inFeed string
		from                        string // the time of the first read, by the clock
		most                        time.Duration
		want                        time.Duration
	}{
		{"none", "", "", "", "12:00", 0, 0},
		{"max-age", "Cache-Control", "public, max-age=3600", "", "12:00", 0, time.Hour},
		{"max-age, of an old copy", "Cache-Control", "max-age=3600", "", "12:00", 0, time.Hour},
		{"no-cache", "Cache-Control", "no-cache, max-age=3600", "", "12:00", 0, 0},
		{"Expires", "Expires", "Mon, 02 Mar 2026 12:30:00 GMT", "", "12:00", 0, 30 * time.Minute},
		{"Expires in the past", "Expires", "0", "", "12:00", 0, 0},
		{"ttl", "", "", ttl, "12:00", 0, time.Hour},
		{"the longer one", "Cache-Control", "max-age=60", ttl, "12:00", 0, time.Hour},
		{"a day at most", "Cache-Control", "max-age=31536000", "", "12:00", 0, 24 * time.Hour},
		{"bounded", "Cache-Control", "max-age=31536000", "", "12:00", time.Hour, time.Hour},
		{"ignored", "Cache-Control", "max-age=3600", ttl, "12:00", -1, 0},
		{"skipHours", "", "", "<skipHours><hour>13</hour><hour>14</hour></skipHours>" + ttl, "12:10", 0, 2*time.Hour + 50*time.Minute},
		{"skipDays", "", "", "<skipDays><day>Monday</day></skipDays>", "20:00", 0, 4 * time.Hour},
		{"all hours", "", "", "<skipDays><day>Monday</day><day>Tuesday</day><day>Wednesday</day><day>Thursday</day><day>Friday</day><day>Saturday</day><day>Sunday</day></skipDays>", "12:00", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock, _ := time.Parse("2006-01-02 15:04", "2026-03-02 "+tt.from)
			start := clock
			f, s := serving(t, func(c *feed.Config) {
				c.MaxPause = tt.most
				c.Now = func() time.Time { return clock }
			}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", clock.Format(http.TimeFormat))
				if tt.header != "" {
					w.Header().Set(tt.header, tt.value)
				}
				io.WriteString(w, strings.Replace(items("a"), "<title>", tt.inFeed+"<title>", 1))
			})
			r := newReader(t, f)
			r.read()
			if tt.want > 0 {
				clock = start.Add(tt.want - time.Second)
				if page := r.read(); !page.Unchanged || !page.AsOf.Equal(start) || page.Skipped != 1 || len(s.requests) != 1 {
					t.Errorf("%+v after %d requests, want it unchanged as of %s", page, len(s.requests), start)
				}
				q := r.q
				q.Known = 0 // somebody wants the posts
				if page, err := f.Timeline(t.Context(), q); err != nil || len(page.Tweets)+page.Skipped != 1 {
					t.Errorf("%+v, error %v", page, err)
				}
				s.requests = s.requests[:1]
				clock = start
				r.read()
			}
			clock = start.Add(tt.want + 24*time.Hour)
			n := len(s.requests)
			if page := r.read(); !page.AsOf.IsZero() || len(s.requests) != n+1 {
				t.Errorf("%+v, want it asked for", page)
			}
		})
	}
}

// What comes over the wire is small, and grows when it is unpacked.
func TestBombs(t *testing.T) {
	f, _ := serving(t, func(c *feed.Config) { c.MaxBody = 1 << 20 }, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, items("a")+strings.Repeat(" ", 1<<20))
	})
	if _, err := newReader(t, f).try(); !errors.Is(err, fetcher.ErrMalformed) {
		t.Errorf("error %v, want ErrMalformed", err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for range 200 {
		z.Write(make([]byte, 1<<20))
	}
	z.Close()
	bomb := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(packed.Bytes())
	}))
	defer bomb.Close()
	real, err := feed.New(feed.Config{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := real.Timeline(t.Context(), fetcher.TimelineQuery{Username: bomb.URL}); !errors.Is(err, fetcher.ErrMalformed) {
		t.Errorf("error %v, want ErrMalformed", err)
	}
}

// A document that is cut on the way gives what came, and is asked for again without a
// condition.
func TestCutOnTheWay(t *testing.T) {
	whole := items("a", "b", "c")
	cut := true
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
		if cut {
			io.WriteString(w, whole[:len(whole)-40])
			return
		}
		io.WriteString(w, whole)
	}))
	defer srv.Close()
	f, err := feed.New(feed.Config{AllowPrivate: true, HostGap: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t, f)
	r.q.Username = srv.URL
	if page := r.read(); len(page.Tweets) != 2 || page.Version != 0 {
		t.Errorf("%+v, want the two entries that came", page)
	}
	cut = false
	if page := r.read(); len(page.Tweets) != 1 || page.Skipped != 2 {
		t.Errorf("%+v, want the third entry", page)
	}
}

// Requests to one host keep their distance; those that would wait for long are told when
// to come, each at another time, and other hosts do not wait.
func TestHostGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := serving(t, func(c *feed.Config) { c.HostGap = time.Second }, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, items("a")) })
		var mu sync.Mutex
		told := map[time.Duration]bool{}
		closed := 0
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				page, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: fmt.Sprintf("%s/%d", feedURL, i)})
				var limit *fetcher.RateLimitError
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.As(err, &limit) && limit.Target && !told[limit.RetryAfter]:
					told[limit.RetryAfter] = true
				case err != nil:
					t.Error(err)
				case page.RateLimit.Known && page.RateLimit.Remaining == 0:
					closed++
				}
			})
		}
		synctest.Wait()
		other := time.Now()
		if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: "https://other.example.com/feed"}); err != nil || time.Since(other) > 0 {
			t.Errorf("another host: error %v after %s", err, time.Since(other))
		}
		wg.Wait()
		if len(told) != 14 {
			t.Errorf("%d were told when to come, want 14: %v", len(told), told)
		}
		var at []time.Time
		for i, r := range s.requests {
			if r.URL.Host == "example.com" {
				at = append(at, s.times[i])
			}
		}
		for i := 1; i < len(at); i++ {
			if gap := at[i].Sub(at[i-1]); gap < time.Second {
				t.Errorf("requests %s apart, want 1 s", gap)
			}
		}
	})
}

func TestUserAgent(t *testing.T) {
	for _, tt := range []struct {
		cfg  feed.Config
		want string
	}{
		{feed.Config{}, "streamwatch/1 (+https://github.com/streamwatch/streamwatch)"},
		{feed.Config{Contact: "ops@example.com"}, "streamwatch/1 (+ops@example.com)"},
		{feed.Config{Contact: "ops@example.com", UserAgent: "x/2"}, "x/2"},
	} {
		f, s := serving(t, func(c *feed.Config) { c.Contact, c.UserAgent = tt.cfg.Contact, tt.cfg.UserAgent }, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, items("a")) })
		newReader(t, f).read()
		if got := s.requests[0].Header.Get("User-Agent"); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestRobots(t *testing.T) {
	f, s := serving(t, func(c *feed.Config) { c.Robots = true }, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Host + r.URL.Path {
		case "example.com/robots.txt":
			http.Redirect(w, r, "/r.txt", http.StatusFound)
		case "example.com/r.txt":
			io.WriteString(w, "User-agent: streamwatch\nDisallow: /feed/private")
		case "down.example.com/robots.txt":
			w.WriteHeader(http.StatusBadGateway)
		case "none.example.com/robots.txt":
			http.NotFound(w, r)
		default:
			io.WriteString(w, items("a"))
		}
	})
	read := func(name string) error {
		_, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: name})
		return err
	}
	if err := read(feedURL + "/open"); err != nil {
		t.Error(err)
	}
	if err := read("https://none.example.com/feed"); err != nil {
		t.Error(err)
	}
	var se *fetcher.StatusError
	if err := read("https://down.example.com/feed"); !errors.As(err, &se) || se.Code != 502 {
		t.Errorf("error %v, want status 502", err)
	}
	n := len(s.requests)
	if err := read(feedURL + "/private"); !errors.Is(err, feed.ErrDisallowed) || !errors.Is(err, fetcher.ErrProtected) || len(s.requests) != n {
		t.Errorf("error %v after %d requests", err, len(s.requests)-n)
	}
}

// A Memory that fails fails the read, which is then made again.
func TestMemoryFails(t *testing.T) {
	m := &failing{}
	f, _ := serving(t, func(c *feed.Config) { c.Memory = m }, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, items("a")) })
	r := newReader(t, f)
	for _, m.err = range []error{errors.New("disk full"), nil} {
		if _, err := r.try(); !errors.Is(err, m.err) {
			t.Errorf("error %v, want %v", err, m.err)
		}
	}
	m.state = []byte(`{"format": 99}`)
	f, _ = serving(t, func(c *feed.Config) { c.Memory = m }, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, items("a")) })
	if _, err := newReader(t, f).try(); err == nil {
		t.Error("a state of another format is read")
	}
}

type failing struct {
	err   error
	state []byte
}

func (m *failing) Load(context.Context, string) ([]byte, error) { return m.state, nil }

func (m *failing) Save(_ context.Context, _ string, state []byte) error {
	if m.err == nil {
		m.state = state
	}
	return m.err
}
