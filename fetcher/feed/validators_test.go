package feed_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
)

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

// A 304 that nobody asked for says nothing.
func TestUnasked304(t *testing.T) {
	f, _ := serving(t, nil, status(http.StatusNotModified))
	var se *fetcher.StatusError
	if _, err := newReader(t, f).try(); !errors.As(err, &se) || se.Code != 304 {
		t.Errorf("error %v, want status 304", err)
	}
}

// Items that cannot be read are posts without an id, once.
func TestLostItems(t *testing.T) {
	const broken = "<item><title>a<b c</title></item>"
	body := ""
	f, _ := serving(t, nil, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
	r := newReader(t, f)
	for i, lost := range []int{1, 1, 2, 0, 1} {
		body = strings.Replace(items("a", fmt.Sprint(i)), "</channel>", strings.Repeat(broken, lost)+"</channel>", 1)
		n := 0
		for _, tw := range r.read().Tweets {
			if tw.ID == "" {
				n++
			}
		}
		if want := []int{1, 0, 1, 0, 1}[i]; n != want {
			t.Errorf("document %d: %d posts without an id, want %d", i, n, want)
		}
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
	for range 20 {
		z.Write(make([]byte, 1<<20))
	}
	z.Close()
	for _, label := range []string{"gzip", "x-gzip", ""} {
		if _, err := encoded(t, label, packed.String()); !errors.Is(err, fetcher.ErrMalformed) || !strings.Contains(err.Error(), "bytes") {
			t.Errorf("labelled %q: error %v, want ErrMalformed that tells the bound", label, err)
		}
	}
}

// encoded reads a feed from a server of its own, under a label.
func encoded(t *testing.T, label, body string) (fetcher.Page, error) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", label)
		io.WriteString(w, body)
	}))
	defer s.Close()
	f, err := feed.New(feed.Config{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	return f.Timeline(t.Context(), fetcher.TimelineQuery{Username: s.URL})
}

func TestContentEncodings(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, items("a", "b"))
	z.Close()
	for _, tt := range []struct {
		name, label, body string
		want              int
	}{
		{"gzip", "gzip", packed.String(), 2},
		{"gzip cut short", "gzip", packed.String()[:packed.Len()-10], 2},
		{"an encoding nobody asked for", "br", "\x8b\x02\x80abc\x03", 0},
	} {
		page, err := encoded(t, tt.label, tt.body)
		if len(page.Tweets) != tt.want || (err == nil) != (tt.want > 0) {
			t.Errorf("%s: %d entries, error %v, want %d", tt.name, len(page.Tweets), err, tt.want)
		}
		if err != nil && (!errors.Is(err, fetcher.ErrMalformed) || !strings.Contains(err.Error(), tt.label)) {
			t.Errorf("error %v, want ErrMalformed that names %s", err, tt.label)
		}
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

// A body that does not go on is no feed that is cut.
func TestStalledBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := feed.New(feed.Config{Transport: stalling{}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newReader(t, f).try(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want that of the deadline", err)
		}
	})
}

type stalling struct{ ctx context.Context }

func (stalling) RoundTrip(r *http.Request) (*http.Response, error) {
	body := io.MultiReader(strings.NewReader(items("a", "b")[:200]), stalling{r.Context()})
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: io.NopCloser(body), ContentLength: -1}, nil
}

func (s stalling) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, io.ErrUnexpectedEOF
}

// The body of a 304, which it must not have, is not read as an answer to the next request,
// and not complained of in the program's log.
func TestBodyOf304(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == "" {
			w.Header().Set("ETag", `"1"`)
			io.WriteString(w, items("a"))
			return
		}
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(c, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello")
		c.Close()
	}))
	defer srv.Close()
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	f, err := feed.New(feed.Config{AllowPrivate: true, HostGap: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t, f)
	r.q.Username = srv.URL
	r.read()
	for range 5 {
		if page := r.read(); !page.Unchanged {
			t.Errorf("%+v, want it unchanged", page)
		}
	}
	srv.Close()
	if logged.Len() > 0 {
		t.Errorf("logged: %s", logged.String())
	}
}
