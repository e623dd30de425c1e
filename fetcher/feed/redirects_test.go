package feed_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
)

// A feed that leads to another signed URL each time is the same by its body, and a validator
// goes to no URL but its own.
func TestSignedURLs(t *testing.T) {
	n, body := 0, items("a")
	f, s := serving(t, nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() == feedURL {
			n++
			http.Redirect(w, r, fmt.Sprint("https://bucket.example.com/feed?signature=", n/2), http.StatusFound)
			return
		}
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(w, body)
	})
	r := newReader(t, f)
	r.read()
	for range 5 {
		if page := r.read(); !page.Unchanged || page.Skipped != 1 {
			t.Errorf("%+v, want it unchanged", page)
		}
	}
	last := ""
	for _, req := range s.requests {
		if req.URL.Host == "example.com" {
			continue
		}
		if tag := req.Header.Get("If-None-Match"); (tag != "") != (req.URL.String() == last) {
			t.Errorf("%s after %q was asked with the tag %q", req.URL, last, tag)
		}
		last = req.URL.String()
	}
	body = items("a", "b")
	n++ // where it leads to is another one again
	if page := r.read(); len(page.Tweets) != 1 || page.Skipped != 1 {
		t.Errorf("%+v, want the new entry", page)
	}
}

// The limit of a host that feeds lead to holds up no feed of the host that they are named by.
func TestLimitBehindARedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse := false
		f, _ := serving(t, nil, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Host == "example.com":
				http.Redirect(w, r, "https://cdn.example.org/1", http.StatusMovedPermanently)
			case refuse:
				w.Header().Set("Retry-After", "600")
				w.WriteHeader(http.StatusTooManyRequests)
			default:
				w.Header().Set("RateLimit-Remaining", "0")
				w.Header().Set("RateLimit-Reset", "600")
				io.WriteString(w, items("a"))
			}
		})
		r := newReader(t, f)
		for range 2 { // as it was read first, and unchanged
			if page := r.read(); page.RateLimit.Known {
				t.Errorf("%+v, want no limit", page.RateLimit)
			}
		}
		refuse = true
		_, err := r.try()
		var limit *fetcher.RateLimitError
		if !errors.As(err, &limit) || limit.RetryAfter != 10*time.Minute || !limit.Target {
			t.Errorf("error %v, want a limit of the feed alone", err)
		}
		if got := f.Bucket(fetcher.Call{Role: fetcher.RoleTimeline, Account: fetcher.Account{Username: feedURL}}); got != "example.com" {
			t.Errorf("bucket %q, want that of the account's host", got)
		}
	})
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
