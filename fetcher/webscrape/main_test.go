package webscrape

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/fetcher"
)

// TestMain runs everything with a proxy in the environment, which no request
// may go to. net/http reads these variables once per process.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY"} {
		os.Setenv(name, "http://127.0.0.1:1")
	}
	os.Unsetenv("NO_PROXY")
	goleak.VerifyTestMain(m)
}

// site is a web site on loopback that records the requests it gets. A path without a
// handler is 404, robots.txt included.
type site struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
}

func newSite(t testing.TB, pages map[string]http.HandlerFunc) *site {
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.URL.RequestURI())
		s.mu.Unlock()
		if h := pages[r.URL.Path]; h != nil {
			h(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.requests...)
}

// scraper may read loopback sites.
func scraper(t testing.TB, change func(*Config)) *Scraper {
	t.Helper()
	cfg := Config{AllowPrivate: true}
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve answers with a body of a content type.
func serve(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{contentType}
		io.WriteString(w, body)
	}
}

// scrapePage reads one page of HTML from a site of its own.
func scrapePage(t *testing.T, format, body string, change func(*Config)) fetcher.ScrapeResult {
	t.Helper()
	s := newSite(t, map[string]http.HandlerFunc{"/dir/page": serve("text/html; charset=utf-8", body)})
	res, err := scraper(t, change).Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL + "/dir/page", Format: format})
	if err != nil {
		t.Fatal(err)
	}
	return res
}
