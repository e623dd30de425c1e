package webscrape

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/netguard"
)

// TestGuardOnTheNetwork connects for real, past the check of the address: the
// listener must see nothing.
func TestGuardOnTheNetwork(t *testing.T) {
	s := newSite(t, map[string]http.HandlerFunc{"/": serve("text/html", "secret")})
	address := s.Listener.Addr().String()
	public, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	tr := public.transport()
	defer tr.CloseIdleConnections()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/", nil)
	if resp, err := tr.RoundTrip(req); !errors.Is(err, netguard.ErrAddressNotAllowed) {
		resp.Body.Close()
		t.Errorf("error %v, want ErrAddressNotAllowed", err)
	}
	if len(s.seen()) != 0 {
		t.Error("the site got a request")
	}
}

func TestRedirects(t *testing.T) {
	to := func(location string, status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Referer() != "" || r.Header.Get("Cookie") != "" {
				panic("a Referer or Cookie was sent")
			}
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			w.Header()["Location"] = []string{location}
			w.WriteHeader(status)
		}
	}
	other := newSite(t, map[string]http.HandlerFunc{"/": serve("text/html", "other")})
	pages := map[string]http.HandlerFunc{
		"/end": serve("text/html", "end"), "/loop": to("/loop", 302), "/other": to(other.URL, 308),
		"/file": to("file:///etc/passwd", 302), "/metadata": to("http://169.254.169.254/latest", 302),
		"/user": to("http://a:b@example.com/", 302), "/nonsense": to("http://%zz/", 302), "/6": to("/5", 302),
	}
	for i, status := range []int{301, 302, 303, 307, 308} {
		pages[fmt.Sprintf("/%d", i+1)] = to(fmt.Sprintf("/%d", i), status)
	}
	pages["/0"] = pages["/end"]
	s := newSite(t, pages)
	for _, tt := range []struct {
		name, path, content string
		err                 error // a *fetcher.ArgumentError when there is neither
	}{
		{"five, one of each kind", "/5", "end", nil},
		{"six", "/6", "", fetcher.ErrMalformed},
		{"in a circle", "/loop", "", fetcher.ErrMalformed},
		{"to another site", "/other", "other", nil},
		{"to a file", "/file", "", netguard.ErrAddressNotAllowed},
		{"to an address that nothing opens", "/metadata", "", netguard.ErrAddressNotAllowed},
		{"to an address with a password", "/user", "", netguard.ErrAddressNotAllowed},
		{"to nonsense", "/nonsense", "", fetcher.ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := scraper(t, func(c *Config) { c.IgnoreRobots = true }).Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL + tt.path})
			var page *fetcher.PageError
			if !errors.Is(err, tt.err) || res.Content != tt.content {
				t.Errorf("%q, %v, want %q, %v", res.Content, err, tt.content, tt.err)
			} else if err != nil && (!errors.As(err, &page) || !page.Refused) {
				t.Errorf("error %v, want a page that is refused", err)
			}
		})
	}
}

// The caller's url is not to blame for where it redirects to, and is told nothing of it.
func TestRedirectsThatAreNotFollowed(t *testing.T) {
	for _, tt := range []struct{ name, from, to, want string }{
		{"of the page", "/", "ftp://secret.example.com/", "the page redirects to an address that is not allowed: want http:// or https:// and a host"},
		{"of robots.txt", "/robots.txt", "http://169.254.169.254/secret", "robots.txt redirects to an address that is not allowed: want "},
		{"of robots.txt to nonsense", "/robots.txt", "http://%zz/secret", "robots.txt redirects to an invalid URL"},
		{"of robots.txt in a circle", "/robots.txt", "/robots.txt", "robots.txt is behind more than 5 redirects"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, map[string]http.HandlerFunc{tt.from: func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Location"] = []string{tt.to}
				w.WriteHeader(http.StatusFound)
			}})
			_, err := scraper(t, nil).Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL})
			var argument *fetcher.ArgumentError
			var page *fetcher.PageError
			switch {
			case errors.As(err, &argument) || !errors.As(err, &page):
				t.Errorf("error %v, want one of the page alone", err)
			case !page.Refused || !strings.HasPrefix(page.Reason, tt.want) || strings.Contains(err.Error(), "secret"):
				t.Errorf("refused %v, reason %q, error %v, want %q", page.Refused, page.Reason, err, tt.want)
			}
		})
	}
}

// A redirect of a public site to a private address is refused, however the address is
// written. The test's transport answers for the public site.
func TestRedirectIntoThePrivateNetwork(t *testing.T) {
	for _, location := range []string{
		"http://127.0.0.1/", "//10.0.0.1/", "http://[::1]/", "http://localhost:8080/", "http://169.254.169.254/", "http://0/", "https://192.168.0.1:8443/",
	} {
		public, err := New(Config{IgnoreRobots: true})
		if err != nil {
			t.Fatal(err)
		}
		u, err := public.parseURL("http://example.com/")
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		_, err = public.get(t.Context(), roundTrip(func(*http.Request) (*http.Response, error) {
			asked++
			return &http.Response{StatusCode: 302, Header: http.Header{"Location": {location}}, Body: http.NoBody}, nil
		}), u, 100, func(*url.URL) error { return nil })
		if !errors.Is(err, netguard.ErrAddressNotAllowed) || asked != 1 {
			t.Errorf("to %s: error %v after %d requests, want it refused after one", location, err, asked)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Errors of the network name the host that was asked for and no address.
func TestNetworkErrors(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	gone := s.URL
	s.Close()
	_, err := scraper(t, func(c *Config) { c.IgnoreRobots = true }).Scrape(t.Context(), fetcher.ScrapeQuery{URL: gone})
	if err == nil || !strings.HasSuffix(err.Error(), "connection refused") {
		t.Errorf("error %v, want a refused connection", err)
	}
	tls := httptest.NewUnstartedServer(serve("text/html", "a"))
	tls.Config.ErrorLog = nil
	tls.StartTLS()
	defer tls.Close()
	_, err = scraper(t, func(c *Config) { c.IgnoreRobots = true }).Scrape(t.Context(), fetcher.ScrapeQuery{URL: tls.URL})
	if err == nil || !strings.HasSuffix(err.Error(), "certificate not valid") {
		t.Errorf("error %v, want an invalid certificate", err)
	}
}
