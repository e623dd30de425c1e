package feed_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
)

// The adapter on a publisher of each format, with ETags and without.
func TestFetcher(t *testing.T) {
	for _, format := range []string{"rss", "atom", "json"} {
		for _, tagged := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, tagged %t", format, tagged), func(t *testing.T) {
				kit := fetchertest.Kit{PageSize: 8, Open: func(t testing.TB) fetchertest.Upstream { return open(t, format, tagged) }}
				if format == "rss" {
					kit.Resolution = time.Second
				}
				fetchertest.TestFetcher(t, kit)
			})
		}
	}
}

// publisher serves feeds, each in pages of eight entries.
type publisher struct {
	format string
	tagged bool

	mu    sync.Mutex
	feeds map[string][]article // by path, newest first
	n     int
}

type article struct {
	id, text string
	at       time.Time
}

func (p *publisher) post(path, text string, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	list := p.feeds[path]
	i, _ := slices.BinarySearchFunc(list, at, func(a article, at time.Time) int {
		if a.at.After(at) {
			return -1
		}
		return 1
	})
	p.feeds[path] = slices.Insert(slices.Clone(list), i, article{fmt.Sprintf("tag:example.com,2026:%d", p.n), text, at})
}

func (p *publisher) remove(path, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.feeds[path] = slices.DeleteFunc(slices.Clone(p.feeds[path]), func(a article) bool { return a.text == text })
}

func (p *publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	list, found := p.feeds[r.URL.Path]
	p.mu.Unlock()
	if !found {
		http.NotFound(w, r)
		return
	}
	if before := r.FormValue("before"); before != "" {
		i := slices.IndexFunc(list, func(a article) bool { return a.id == before })
		list = list[i+1:]
	}
	next := ""
	if len(list) > 8 {
		list = list[:8]
		next = "http://" + r.Host + r.URL.Path + "?before=" + list[7].id
	}
	links := ""
	if next != "" {
		links = fmt.Sprintf(`<link xmlns="http://www.w3.org/2005/Atom" rel="next" href="%s"/>`, html.EscapeString(next))
	}
	body := jsonFeed(list, next)
	switch p.format {
	case "rss":
		body = rssFeed(list, links)
	case "atom":
		body = atomFeed(list, links)
	}
	if p.tagged {
		tag := fmt.Sprintf(`"%d-%x"`, len(body), hashOf(body))
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	fmt.Fprint(w, body)
}

func hashOf(s string) (h uint64) {
	for i := range len(s) {
		h = h*1099511628211 + uint64(s[i])
	}
	return h
}

func rssFeed(list []article, links string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><rss version="2.0"><channel><title>A feed</title><link>https://example.com/</link>` + links)
	for _, a := range list {
		fmt.Fprintf(&b, `<item><guid isPermaLink="false">%s</guid><description>&lt;p&gt;%s&lt;/p&gt;</description><pubDate>%s</pubDate></item>`, a.id, a.text, a.at.UTC().Format(time.RFC1123Z))
	}
	return b.String() + `</channel></rss>`
}

func atomFeed(list []article, links string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>A feed</title><id>urn:feed</id>` + links)
	for _, a := range list {
		at := a.at.UTC().Format(time.RFC3339Nano)
		fmt.Fprintf(&b, `<entry><id>%s</id><title>%s</title><published>%s</published><updated>%s</updated></entry>`, a.id, a.text, at, at)
	}
	return b.String() + `</feed>`
}

func jsonFeed(list []article, next string) string {
	type item struct {
		ID   string `json:"id"`
		Text string `json:"content_text"`
		At   string `json:"date_published"`
	}
	doc := struct {
		Version string `json:"version"`
		Title   string `json:"title"`
		Next    string `json:"next_url,omitempty"`
		Items   []item `json:"items"`
	}{"https://jsonfeed.org/version/1.1", "A feed", next, []item{}}
	for _, a := range list {
		doc.Items = append(doc.Items, item{a.id, a.text, a.at.UTC().Format(time.RFC3339Nano)})
	}
	text, _ := json.Marshal(doc)
	return string(text)
}

// open serves three feeds whose answers can be replaced.
func open(t testing.TB, format string, tagged bool) fetchertest.Upstream {
	p := &publisher{format: format, tagged: tagged, feeds: map[string][]article{"/a": nil, "/b": nil, "/c": nil}}
	var instead atomic.Pointer[http.HandlerFunc]
	var private sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := instead.Load(); h != nil {
			(*h)(w, r)
			return
		}
		if _, ok := private.Load(r.URL.Path); ok {
			http.Error(w, "not for you", http.StatusForbidden)
			return
		}
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	answer := func(h http.HandlerFunc) { instead.Store(&h) }
	path := func(account string) string { return strings.TrimPrefix(account, server.URL) }
	return fetchertest.Upstream{
		New: func(t testing.TB) fetcher.Fetcher {
			f, err := feed.New(feed.Config{AllowPrivate: true, HostGap: time.Nanosecond})
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
		Accounts: []string{server.URL + "/a", server.URL + "/b", server.URL + "/c"},
		Post:     func(account, text string, at time.Time) { p.post(path(account), text, at) },
		Delete:   func(account, text string) { p.remove(path(account), text) },
		Missing:  server.URL + "/missing",
		Protect:  func(account string) { private.Store(path(account), true) },
		Unauthorized: func() {
			answer(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusUnauthorized) })
		},
		Limit: func(wait time.Duration) {
			answer(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())))
				http.Error(w, "slow down", http.StatusTooManyRequests)
			})
		},
		Garble: func() {
			answer(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, "<html><body>Just a moment</body></html>")
			})
		},
		Stall: func() { answer(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }) },
	}
}
