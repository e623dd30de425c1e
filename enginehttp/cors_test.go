package enginehttp_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/enginetest"
)

const ourPage = "https://app.example.com"

// Only pages of the allowed origins may read answers and send keys.
func TestCORS(t *testing.T) {
	for name, row := range map[string]struct {
		origins []string
		origin  string
		allowed bool
	}{
		"an allowed one":    {[]string{"http://localhost:3000", ourPage}, ourPage, true},
		"none are allowed":  {nil, ourPage, false},
		"another":           {[]string{ourPage}, "https://evil.example", false},
		"another scheme":    {[]string{ourPage}, "http://app.example.com", false},
		"another port":      {[]string{ourPage}, ourPage + ":8443", false},
		"only the same end": {[]string{ourPage}, "https://evilapp.example.com", false},
		"null":              {[]string{ourPage}, "null", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(s *setup) { s.options.Origins = row.origins })
			r := request("GET", "/v1/account/me", "")
			r.Header.Set("X-Api-Key", w.key[mine])
			r.Header.Set("Origin", row.origin)
			a := w.send(r)
			if got := a.header.Get("Access-Control-Allow-Origin"); a.status != 200 || (got == row.origin) != row.allowed || !row.allowed && got != "" {
				t.Errorf("%d, allowed %q", a.status, got)
			}
			if shown := strings.Contains(a.header.Get("Access-Control-Expose-Headers"), "X-Credits-Used"); shown != row.allowed {
				t.Errorf("the page may see X-Credits-Used: %v, want %v", shown, row.allowed)
			}
			if varies := a.header.Get("Vary") == "Origin"; varies != (row.origins != nil) {
				t.Errorf("Vary %q", a.header.Get("Vary"))
			}
			if a.header.Get("Access-Control-Allow-Credentials") != "" {
				t.Error("Access-Control-Allow-Credentials is set")
			}

			// The preflight, which browsers send without a key.
			r = httptest.NewRequest("OPTIONS", monitors, nil)
			r.Header.Set("Origin", row.origin)
			r.Header.Set("Access-Control-Request-Method", "POST")
			r.Header.Set("Access-Control-Request-Headers", "content-type,x-api-key")
			w.checked = false
			a = w.send(r)
			if !row.allowed {
				if a.status != http.StatusMethodNotAllowed || a.header.Get("Access-Control-Allow-Methods") != "" {
					t.Errorf("preflight: %d %v, want a refusal", a.status, a.header)
				}
				return
			}
			if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Origin") != row.origin ||
				!strings.Contains(a.header.Get("Access-Control-Allow-Methods"), "PATCH") ||
				!strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "X-Api-Key") {
				t.Errorf("preflight: %d %v", a.status, a.header)
			}
		})
	}
}

// A page of an allowed origin may read every header that the document describes.
func TestPagesReadTheHeadersOfTheDocument(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.options.Origins = []string{ourPage} })
	r := request("GET", "/v1/account/me", "")
	r.Header.Set("X-Api-Key", w.key[mine])
	r.Header.Set("Origin", ourPage)
	exposed := strings.Split(w.send(r).header.Get("Access-Control-Expose-Headers"), ", ")
	for name := range document().Components.Headers {
		if !slices.Contains(exposed, name) {
			t.Errorf("%s is not exposed", name)
		}
	}
}

func TestOriginsAreChecked(t *testing.T) {
	e, err := streamwatch.New(streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{})})
	if err != nil {
		t.Fatal(err)
	}
	for origin, ok := range map[string]bool{
		ourPage: true, "http://localhost:3000": true, "http://[::1]:8080": true,
		"": false, "*": false, "null": false, "app.example.com": false, ourPage + "/": false, "https://*.example.com": false,
		"https://App.example.com": false, "ftp://app.example.com": false, "https://me@app.example.com": false, "https://": false,
	} {
		_, err := enginehttp.New(e, enginehttp.Options{Auth: nobody{}, Origins: []string{origin}})
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "enginehttp: origin") {
			t.Errorf("%q: %v, want it allowed: %v", origin, err, ok)
		}
	}
}
