package feed_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
)

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

// The limit of a host that feeds lead to holds up no feed of the host that they are named by,
// and the bucket of a feed that has moved is that of its new host, also when this refuses.
func TestLimitBehindARedirect(t *testing.T) {
	for _, code := range []int{http.StatusFound, http.StatusMovedPermanently} {
		synctest.Test(t, func(t *testing.T) {
			refuse := false
			f, _ := serving(t, nil, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Host == "example.com":
					http.Redirect(w, r, "https://cdn.example.org/1", code)
				case refuse:
					w.Header().Set("Retry-After", "600")
					w.WriteHeader(http.StatusTooManyRequests)
				default:
					w.Header().Set("RateLimit-Remaining", "0")
					w.Header().Set("RateLimit-Reset", "600")
					io.WriteString(w, items("a"))
				}
			})
			moves, bucket := code == http.StatusMovedPermanently, "example.com"
			if moves {
				bucket = "cdn.example.org"
			}
			r := newReader(t, f)
			for range 2 { // as it was read first, and unchanged
				if page := r.read(); page.RateLimit.Known != moves {
					t.Errorf("status %d: %+v, want a limit: %t", code, page.RateLimit, moves)
				}
			}
			refuse = true
			_, err := r.try()
			var limit *fetcher.RateLimitError
			if !errors.As(err, &limit) || limit.RetryAfter != 10*time.Minute || limit.Target == moves {
				t.Errorf("status %d: error %v, want a limit of the feed alone: %t", code, err, !moves)
			}
			if got := f.Bucket(fetcher.Call{Role: fetcher.RoleTimeline, Account: fetcher.Account{Username: feedURL}}); got != bucket {
				t.Errorf("status %d: bucket %q, want %q", code, got, bucket)
			}
		})
	}
}

// A feed that has moved to where a web page is now is looked for at its own address again.
func TestMovedToAPage(t *testing.T) {
	parked := false
	f, _ := serving(t, nil, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.String() == feedURL && !parked:
			http.Redirect(w, r, "https://moved.example.org/", http.StatusMovedPermanently)
		case r.URL.String() != feedURL && parked:
			io.WriteString(w, "<!DOCTYPE html><html><body>This domain is for sale")
		default:
			io.WriteString(w, items("a"))
		}
	})
	r := newReader(t, f)
	r.read()
	parked = true
	if _, err := r.try(); !errors.Is(err, fetcher.ErrMalformed) {
		t.Fatalf("error %v, want ErrMalformed of the page", err)
	}
	if _, err := r.try(); err != nil {
		t.Errorf("error %v, want the feed at its own address", err)
	}
}

func TestRedirectsThatAreNotFollowed(t *testing.T) {
	for _, to := range []string{"http://127.0.0.1/", "ftp://example.com/", "http://[::1]/", "https://u:p@example.com/", "https://example.com:9/", "http://[::1", "/feed", "https://" + strings.Repeat("a", 3000) + ".com/"} {
		f, s := serving(t, nil, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
		if _, err := newReader(t, f).try(); err == nil || len(s.requests) > 6 {
			t.Errorf("%s: error %v after %d requests", to, err, len(s.requests))
		}
	}
	f, _ := serving(t, nil, status(http.StatusOK))
	for _, q := range []fetcher.TimelineQuery{{Username: feedURL, Cursor: "http://127.0.0.1/"}, {Username: "http://127.0.0.1/"}, {Username: "feed"}, {Username: "ftp://example.com/"}, {Username: "https:///a"}} {
		if _, err := f.Timeline(t.Context(), q); !errors.As(err, new(*fetcher.ArgumentError)) {
			t.Errorf("%+v: error %v, want an ArgumentError", q, err)
		}
		call := fetcher.Call{Account: fetcher.Account{Username: q.Username}}
		if known := q.Cursor != ""; (f.Bucket(call) == "example.com") != known || f.Turn(call, []string{"o"}) != 0 {
			t.Errorf("%s: bucket %q, want one of a host: %t", q.Username, f.Bucket(call), known)
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

// A feed that is gone (410) is asked for once an hour; after six hours it is believed, and
// asked for once a day, however often it is polled.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		code := http.StatusGone
		f, s := serving(t, nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
		r := newReader(t, f)
		r.try()
		<-time.After(5 * time.Hour)
		code = http.StatusInternalServerError // it is there, if not well
		r.try()
		code = http.StatusGone
		start, before := time.Now(), len(s.requests)
		var asked []time.Duration
		for range 4 * 60 { // an engine asks again after a quarter of an hour
			at := time.Since(start)
			_, err := r.try()
			if len(s.requests)-before > len(asked) {
				asked = append(asked, at.Round(time.Minute))
			}
			var se *fetcher.StatusError
			if believed := at >= 6*time.Hour; errors.Is(err, fetcher.ErrNotFound) != believed || errors.As(err, &se) && se.Code != http.StatusGone || fetcher.RetryAfter(err) <= 0 {
				t.Errorf("after %s: error %v, want that of a 410, believed: %t", at, err, believed)
			}
			<-time.After(15 * time.Minute)
		}
		var want []time.Duration
		for _, hours := range []int{0, 1, 2, 3, 4, 5, 6, 30, 54} {
			want = append(want, time.Duration(hours)*time.Hour)
		}
		if !slices.Equal(asked, want) {
			t.Errorf("asked after %s, want %s", asked, want)
		}
	})
}
