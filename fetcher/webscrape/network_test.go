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
	for _, tt := range []struct {
		address         string
		public, private bool // allowed without and with AllowPrivate
	}{
		{"93.184.216.34:80", true, true},
		{"[2606:4700:4700::1111]:8080", true, true},
		{"93.184.216.34:443", true, true},
		{"93.184.216.34:22", false, true},
		{"127.0.0.1:80", false, true},
		{"192.168.1.1:8080", false, true},
		{"169.254.169.254:80", false, false},
		{"[fe80::1%eth0]:80", false, false},
		{"93.184.216.34:0", false, false},
		{"example.com:80", false, false},
	} {
		for allow, want := range map[bool]bool{false: tt.public, true: tt.private} {
			err := (&netguard.Guard{AllowPrivate: allow, Ports: ports}).Control("tcp", tt.address, nil)
			if (err == nil) != want || err != nil && err != netguard.ErrAddressNotAllowed {
				t.Errorf("%s, AllowPrivate %v: %v, want ok %v", tt.address, allow, err, want)
			}
		}
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
		{"to a file", "/file", "", nil},
		{"to an address that nothing opens", "/metadata", "", nil},
		{"to an address with a password", "/user", "", nil},
		{"to nonsense", "/nonsense", "", fetcher.ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := scraper(t, func(c *Config) { c.IgnoreRobots = true }).Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL + tt.path})
			var field *fetcher.ArgumentError
			switch {
			case tt.content != "":
				if err != nil || res.Content != tt.content {
					t.Errorf("%q, %v, want %q", res.Content, err, tt.content)
				}
			case tt.err != nil && !errors.Is(err, tt.err), tt.err == nil && !errors.As(err, &field):
				t.Errorf("error %v, want %v", err, tt.err)
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
		var field *fetcher.ArgumentError
		if !errors.As(err, &field) || asked != 1 {
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
