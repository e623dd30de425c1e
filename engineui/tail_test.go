package engineui_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/fetcher"
)

// listener is a client of the tail, without a socket.
type listener struct {
	header http.Header
	leave  func()
	done   chan struct{}

	mu       sync.Mutex
	status   int
	text     strings.Builder
	gate     chan struct{} // writes wait until it is closed; nil for none
	deadline time.Time     // of writes
}

// listen opens the tail as a viewer.
func listen(h http.Handler, path string, header http.Header) *listener {
	ctx, leave := context.WithCancel(context.Background())
	l := &listener{header: http.Header{}, leave: leave, done: make(chan struct{}), status: http.StatusOK}
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	r.Header = header
	go func() {
		defer close(l.done)
		h.ServeHTTP(l, r)
	}()
	synctest.Wait()
	return l
}

func (l *listener) Header() http.Header { return l.header }

func (l *listener) WriteHeader(status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status = status
}

func (l *listener) Write(b []byte) (int, error) {
	l.mu.Lock()
	gate := l.gate
	l.mu.Unlock()
	if gate != nil {
		<-gate
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *listener) Flush() {}

// block has writes wait until the func that it returns is called.
func (l *listener) block() (open func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	gate := make(chan struct{})
	l.gate = gate
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(gate)
		l.gate = nil
	}
}

func (l *listener) ended() bool {
	synctest.Wait()
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// got is the texts of the items so far, and how many were dropped.
func (l *listener) got(t *testing.T) (texts []string, dropped int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for frame := range strings.SplitSeq(l.text.String(), "\n\n") {
		if data, ok := strings.CutPrefix(frame, "event: item\ndata: "); ok {
			var e struct{ Text string }
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Errorf("%q: %v", data, err)
			}
			texts = append(texts, e.Text)
		}
		var n int
		if _, err := fmt.Sscanf(frame, "event: dropped\ndata: %d", &n); err == nil {
			dropped += n
		}
	}
	return texts, dropped
}

func wantTexts(t *testing.T, who string, l *listener, want ...string) {
	t.Helper()
	if got, _ := l.got(t); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s got %q, want %q", who, got, want)
	}
}

// Viewers get what they may see, as it is found.
func TestTail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		operator := listen(w, "/console/tail", http.Header{"Viewer": {"operator"}})
		ofAcme := listen(w, "/console/tail?owner=acme", http.Header{"Viewer": {"operator"}})
		acme := listen(w, "/console/tail", http.Header{"Viewer": {"acme"}})
		curious := listen(w, "/console/tail?owner=globex", http.Header{"Viewer": {"acme"}})
		all := []*listener{operator, ofAcme, acme, curious}
		w.post("acme_news", "one")
		w.post("globex_news", "two\nlines")
		w.post("acme_news", "three")
		wantTexts(t, "an operator", operator, "one", "two\nlines", "three")
		wantTexts(t, "an operator who asks for acme's", ofAcme, "one", "three")
		wantTexts(t, "acme", acme, "one", "three")
		wantTexts(t, "acme, who asks for globex's,", curious, "one", "three")
		if operator.header.Get("Content-Type") != "text/event-stream" || operator.header.Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", operator.header)
		}
		for _, l := range all {
			l.leave()
			if !l.ended() {
				t.Error("the tail goes on after its client has left")
			}
		}
	})
}

// Who may not look any more gets nothing more.
func TestTailEndsWithTheRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var refused error
		who := engineui.Viewer{Owner: "acme"}
		w := newWorld(t, func(_ *streamwatch.Config, ui *engineui.Config) {
			ui.Authorize = func(*http.Request) (engineui.Viewer, error) {
				mu.Lock()
				defer mu.Unlock()
				return who, refused
			}
		})
		for _, row := range []struct {
			name   string
			change func()
		}{
			{"refused", func() { refused = errors.New("revoked") }},
			{"now another's", func() { refused, who.Owner = nil, "globex" }},
		} {
			mu.Lock()
			refused, who.Owner = nil, "acme"
			mu.Unlock()
			l := listen(w, "/tail", http.Header{})
			<-time.After(time.Minute)
			if l.ended() {
				t.Errorf("%s: the tail has ended before", row.name)
			}
			mu.Lock()
			row.change()
			mu.Unlock()
			<-time.After(6 * time.Second)
			if !l.ended() {
				t.Errorf("%s: the tail goes on", row.name)
			}
			l.leave()
		}
	})
}

// Who is too slow for all gets the newest, and is told how much was left out.
func TestSlowClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		slow := listen(w, "/tail", http.Header{"Viewer": {"acme"}})
		quick := listen(w, "/tail", http.Header{"Viewer": {"acme"}})
		open := slow.block()
		for i := range 100 {
			w.post("acme_news", fmt.Sprint(i))
		}
		open()
		<-time.After(time.Second)
		got, dropped := slow.got(t)
		if len(got)+dropped != 100 || dropped == 0 || got[len(got)-1] != "99" || got[len(got)-64] != "36" {
			t.Errorf("the slow one got %d events, the last %q, and was told of %d that were dropped", len(got), got[len(got)-1], dropped)
		}
		if got, dropped := quick.got(t); len(got) != 100 || dropped != 0 {
			t.Errorf("the quick one got %d events, and was told of %d that were dropped", len(got), dropped)
		}
		for _, l := range []*listener{slow, quick} {
			l.leave()
			<-l.done
		}
	})
}

// An owner has ten tails at most, so that there is room for others.
func TestTailsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var all []*listener
		open := func(viewer string) *listener {
			l := listen(w, "/tail", http.Header{"Viewer": {viewer}})
			all = append(all, l)
			return l
		}
		for range 10 {
			if open("acme").ended() {
				t.Fatal("one of ten is refused")
			}
		}
		if l := open("acme"); !l.ended() || l.status != http.StatusServiceUnavailable || l.header.Get("Retry-After") == "" {
			t.Errorf("the eleventh: status %d", l.status)
		}
		if open("globex").ended() {
			t.Error("another owner is refused")
		}
		all[0].leave()
		<-all[0].done
		if open("acme").ended() {
			t.Error("refused although one has left")
		}
		for i := range 79 {
			if open(fmt.Sprint("owner", i/10)).ended() {
				t.Fatal("one of ninety is refused")
			}
		}
		if l := open("one more"); !l.ended() || l.status != http.StatusServiceUnavailable {
			t.Errorf("the ninety-first of all owners: status %d", l.status)
		}
		for range 10 {
			if open("operator").ended() {
				t.Fatal("an operator is refused because of the owners")
			}
		}
		if l := open("operator"); !l.ended() || l.status != http.StatusServiceUnavailable {
			t.Errorf("the eleventh operator: status %d", l.status)
		}
		for _, l := range all {
			l.leave()
			<-l.done
		}
	})
}

// Close ends the tails; pages are still answered.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := listen(w, "/tail", http.Header{"Viewer": {"acme"}})
		w.Close()
		if !l.ended() {
			t.Error("the tail goes on after Close")
		}
		if l := listen(w, "/tail", http.Header{"Viewer": {"acme"}}); !l.ended() || l.status != http.StatusServiceUnavailable {
			t.Errorf("a tail after Close: status %d", l.status)
		}
		if status, _ := get(w, "acme", "/"); status != http.StatusOK {
			t.Errorf("a page after Close: status %d", status)
		}
		w.Close()
	})
}

// Over a socket, a client that leaves frees what it had.
func TestTailOverHTTP(t *testing.T) {
	p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"acme_news"}})
	e, err := streamwatch.New(streamwatch.Config{Fetcher: p})
	if err != nil {
		t.Fatal(err)
	}
	c, err := engineui.New(engineui.Config{Engine: e, Authorize: engineui.AllowLoopback})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	srv := httptest.NewUnstartedServer(c)
	srv.Config.WriteTimeout = time.Minute
	srv.Start()
	res, err := srv.Client().Get(srv.URL + "/tail")
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(res.Body).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "retry:") {
		t.Errorf("first line %q, error %v", line, err)
	}
	res.Body.Close()
	srv.Close() // waits for the handler; goleak for the goroutines
}

// What others write is text, never markup, and only http and https are links.
func TestHostileTexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := listen(w, "/tail", http.Header{"Viewer": {"acme"}})
		for i, text := range []string{
			`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</td></table><h1>`, "a\n\nevent: item\ndata: {}\n\n", "\u202e{{.Data}}", `' onmouseover='x`, "\x00\x01",
		} {
			w.post("acme_news", fmt.Sprint(i, text))
		}
		_, page := get(w, "acme", "/")
		sound(t, page)
		if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") || strings.Contains(page, "alert(1)>") {
			t.Error("a text of a post is markup")
		}
		if got, _ := l.got(t); len(got) != 7 {
			t.Errorf("%d items for 7 posts: %q", len(got), got)
		}
		l.leave()
		<-l.done
	})
}

// forged is a platform whose posts have another address.
type forged struct {
	*enginetest.Platform
	address string
}

func (f forged) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	page, err := f.Platform.Timeline(ctx, q)
	for i := range page.Tweets {
		page.Tweets[i].Permalink = f.address
	}
	return page, err
}

func TestAddressesOfPosts(t *testing.T) {
	for _, row := range []struct {
		address string
		link    bool
	}{
		{"https://social.example.com/1?a=b&c=d", true}, {"http://social.example.com/1", true},
		{"javascript:alert(1)", false}, {"JaVaScRiPt://%0aalert(1)", false}, {"javascript://social.example.com/%0aalert(1)", false}, {"ftp://social.example.com/1", false}, {"data:text/html,x", false}, {"/relative", false}, {"https:", false},
		{"https://social.example.com/" + strings.Repeat("x", 3000), false},
	} {
		t.Run(row.address[:min(len(row.address), 30)], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, func(cfg *streamwatch.Config, _ *engineui.Config) {
					cfg.Fetcher = forged{cfg.Fetcher.(*enginetest.Platform), row.address}
				})
				l := listen(w, "/tail", http.Header{"Viewer": {"acme"}})
				w.post("acme_news", "a post")
				_, page := get(w, "acme", "/")
				sound(t, page)
				link := false
				for _, g := range tags(t, page) {
					if g.name == "a" && g.attr["rel"] == "noopener noreferrer nofollow" {
						link = link || g.attr["href"] == row.address
					}
				}
				if link != row.link || !strings.Contains(page, "a post") {
					t.Errorf("the page has a link: %v, want %v", link, row.link)
				}
				l.mu.Lock()
				if sent := !strings.Contains(l.text.String(), `"url":""`); sent != row.link {
					t.Errorf("the tail has the address: %v, want %v", sent, row.link)
				}
				l.mu.Unlock()
				l.leave()
				<-l.done
			})
		})
	}
}
