package bluesky

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
)

func TestErrors(t *testing.T) {
	long := strings.Repeat("very ", 200) + "long"
	for _, c := range []struct {
		status        int
		name, message string
		want          error // nil for a StatusError
	}{
		{400, "InvalidRequest", "Profile not found", fetcher.ErrNotFound},
		{400, "InvalidRequest", "Could not find repo: did:plc:x", fetcher.ErrNotFound},
		{400, "InvalidRequest", "Error: actor must be a valid did or a handle", fetcher.ErrNotFound},
		{400, "InvalidRequest", "Malformed cursor", nil},
		{400, "InvalidRequest", "Error: limit cannot be greater than 100", nil},
		{400, "ActorNotFound", "", fetcher.ErrNotFound},
		{400, "RepoNotFound", long, fetcher.ErrNotFound},
		{404, "NotFound", "", fetcher.ErrNotFound},
		{400, "AccountTakedown", "Account has been suspended", fetcher.ErrProtected},
		{400, "AccountDeactivated", "Account is deactivated", fetcher.ErrProtected},
		{400, "RepoTakendown", "", fetcher.ErrProtected},
		{400, "RepoSuspended", "", fetcher.ErrProtected},
		{400, "RepoDeactivated", "", fetcher.ErrProtected},
		{400, "BlockedActor", "", fetcher.ErrProtected},
		{400, "BlockedByActor", "", fetcher.ErrProtected},
		{403, "Forbidden", "", fetcher.ErrProtected},
		{400, "ExpiredToken", "Token has expired", fetcher.ErrUnauthorized},
		{400, "InvalidToken", "", fetcher.ErrUnauthorized},
		{401, "AuthMissing", "Authentication Required", fetcher.ErrUnauthorized},
		{400, "AuthenticationRequired", "", fetcher.ErrUnauthorized},
		{400, "SomethingNew", "Profile not found", nil},
		{500, "InternalServerError", "Internal Server Error", nil},
		{501, "MethodNotImplemented", "", nil},
	} {
		for _, pds := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d %s %.20s pds=%t", c.status, c.name, c.message, pds), func(t *testing.T) {
				answer := failure(c.status, c.name, c.message)
				p := serve(t, answers{"app.bsky.feed.getAuthorFeed": answer, "com.atproto.repo.listRecords": answer})
				_, err := p.open(t, pds).Timeline(t.Context(), fetcher.TimelineQuery{Username: alice})
				var status *fetcher.StatusError
				switch {
				case c.want != nil && !errors.Is(err, c.want):
					t.Errorf("error %v, want %v", err, c.want)
				case c.want == nil && (!errors.As(err, &status) || status.Code != c.status):
					t.Errorf("error %v, want a StatusError %d", err, c.status)
				}
			})
		}
	}
}

func TestMalformedAnswers(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat("{},", maxItems+1), ",")
	for _, c := range []struct{ name, feed string }{
		{"a page for people", "<!DOCTYPE html><title>502</title>"},
		{"empty", ""},
		{"cut off", `{"feed":[{"post":{"uri":"at`},
		{"null", `null`},
		{"a list", `[]`},
		{"no list", `{"cursor":"x"}`},
		{"null list", `{"feed":null}`},
		{"an object for a list", `{"feed":{}}`},
		{"too many items", `{"feed":[` + many + `]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := serve(t, answers{
				"app.bsky.feed.getAuthorFeed":  body(c.feed),
				"com.atproto.repo.listRecords": body(strings.Replace(c.feed, "feed", "records", 1)),
			})
			for _, pds := range []bool{false, true} {
				_, err := p.open(t, pds).Timeline(t.Context(), fetcher.TimelineQuery{Username: alice})
				if !errors.Is(err, fetcher.ErrMalformed) {
					t.Errorf("pds %t: error %v, want ErrMalformed", pds, err)
				}
			}
		})
	}
}

func TestNewChecksItsConfig(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		want string // in the error, "" for none
	}{
		{"the zero value", Config{}, ""},
		{"a PDS", Config{PDS: "https://pds.example.com/"}, ""},
		{"an address without a scheme", Config{BaseURL: "public.api.bsky.app"}, "source BaseURL"},
		{"a PDS without a scheme", Config{PDS: "pds.example.com"}, "source PDS"},
		{"a page too small", Config{PageSize: -1}, "PageSize -1 is not allowed: want 1 to 100"},
		{"a page too large", Config{PageSize: 101}, "PageSize 101 is not allowed: want 1 to 100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New(c.cfg)
			if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestPageSize(t *testing.T) {
	for _, c := range []struct {
		name        string
		size, limit int
		want        string
	}{
		{"by default", 0, 0, "50"},
		{"as configured", 20, 0, "20"},
		{"as wished", 20, 30, "30"},
		{"at most what is allowed", 20, 1000, "100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked string
			p := serve(t, answers{"app.bsky.feed.getAuthorFeed": func(q url.Values) (int, string) {
				asked = q.Get("limit")
				return 200, feed()
			}})
			f, err := New(Config{BaseURL: p.URL, PageSize: c.size})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: alice, Limit: c.limit}); err != nil {
				t.Fatal(err)
			}
			if asked != c.want {
				t.Errorf("asked for %s posts, want %s", asked, c.want)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestDefaultIsThePublicAppView(t *testing.T) {
	var asked string
	f, err := New(Config{HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = r.URL.Scheme + "://" + r.URL.Host
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(feed()))}, nil
	})}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: alice}); err != nil {
		t.Fatal(err)
	}
	if asked != DefaultBaseURL {
		t.Errorf("asked %q, want %q", asked, DefaultBaseURL)
	}
}
