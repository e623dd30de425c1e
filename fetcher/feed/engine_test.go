package feed_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher/feed"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// press publishes feeds whose entries are hard to tell apart, or to date.
type press struct {
	mu    sync.Mutex
	rng   *rand.Rand
	posts map[string][]written // by the feed's path, newest first
}

type written struct {
	text string
	at   time.Time
}

func (p *press) publish(path, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.posts[path] = append([]written{{text, time.Now()}}, p.posts[path]...)
}

func (p *press) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.URL.Path == "/paused" {
		w.Header().Set("Cache-Control", "max-age=5400")
	}
	if r.URL.Path == "/stale" {
		if w.Header().Set("ETag", `"always"`); r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	fmt.Fprint(w, `<rss version="2.0"><channel><title>x</title><link>https://example.com/</link>`)
	for _, post := range p.posts[r.URL.Path] {
		item := "<title>" + post.text + "</title>"
		switch r.URL.Path {
		case "/undated":
		case "/churning":
			item += fmt.Sprintf("<guid>%d</guid><link>https://example.com/%s</link><pubDate>%s</pubDate>", p.rng.Uint64(), post.text, post.at.Format(time.RFC1123Z))
		case "/daily":
			item += "<pubDate>" + post.at.Format("Mon, 02 Jan 2006") + "</pubDate><guid>" + post.text + "</guid>"
		case "/future":
			item += "<pubDate>" + post.at.AddDate(1, 0, 0).Format(time.RFC1123Z) + "</pubDate><guid>" + post.text + "</guid>"
		case "/redated":
			item += "<pubDate>" + time.Now().Format(time.RFC1123Z) + "</pubDate><guid>" + post.text + "</guid>"
		case "/paused", "/stale":
			item += "<pubDate>" + post.at.Format(time.RFC1123Z) + "</pubDate><guid>" + post.text + "</guid>"
		}
		fmt.Fprint(w, "<item>"+item+"</item>")
	}
	fmt.Fprint(w, "</channel></rss>")
}

// In an engine that is started anew every few hours each entry is an event once, and what
// was there before is none: without dates, with dates that tell the day, lie in the future
// or change, with other guids at every read, while feeds are not to be read, and from a server
// that answers 304 to every condition.
func TestEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paths := []string{"/undated", "/churning", "/daily", "/future", "/redated", "/paused", "/stale"}
		rng := rand.New(rand.NewPCG(3, 4))
		p := &press{rng: rand.New(rand.NewPCG(1, 2)), posts: map[string][]written{}}
		var names []string
		for _, path := range paths {
			names = append(names, "https://example.com"+path)
			for i := range 5 {
				p.publish(path, fmt.Sprintf("old%d%s", i, strings.ReplaceAll(path, "/", "-")))
			}
		}
		<-time.After(time.Hour)
		dir, err := feed.NewDir(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		store := memory.New(memory.Options{})
		got := map[string]int{}
		var mu sync.Mutex
		start := func() *streamwatch.Engine {
			f, _ := serving(t, func(c *feed.Config) { c.Memory = dir }, p.ServeHTTP)
			e, err := streamwatch.New(streamwatch.Config{Sources: []streamwatch.Source{{Name: "feed", Fetcher: f, CheckAccount: feed.CheckAccount}}, Store: store,
				OnEvent: func(_ context.Context, e deliver.Event) error {
					mu.Lock()
					defer mu.Unlock()
					got[e.TextPreview]++
					return nil
				}})
			if err == nil {
				err = e.Start(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		stop := func(e *streamwatch.Engine) {
			if err := e.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		}
		e := start()
		for i, name := range names {
			names[i] = "feed:" + name
		}
		if _, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "m", Usernames: names, PollInterval: 10 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		<-time.After(30 * time.Minute)
		want := map[string]bool{}
		rounds := 20
		if testing.Short() {
			rounds = 10
		}
		for i := range rounds {
			if i%5 == 4 { // down for a while
				stop(e)
			}
			for _, path := range paths {
				text := fmt.Sprintf("new%d%s", i, strings.ReplaceAll(path, "/", "-"))
				p.publish(path, text)
				want[text] = true
			}
			<-time.After(time.Duration(rng.IntN(90)) * time.Minute)
			if i%5 == 4 {
				e = start()
			}
		}
		<-time.After(3 * time.Hour)
		stop(e)
		for text := range want {
			if got[text] != 1 {
				t.Errorf("%s: %d events, want 1", text, got[text])
			}
		}
		for text, n := range got {
			if !want[text] {
				t.Errorf("%s: %d events, want none: it was there before", text, n)
			}
		}
	})
}
