package feed_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
	"github.com/streamwatch/streamwatch/monitor"
)

// site publishes a feed at /news and one at /podcast.
func site() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/news":
			io.WriteString(w, `<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><entry><id>n1</id><title>Rain &amp; wind</title>
				<link href="/1"/><published>2026-03-02T12:00:00+01:00</published><content type="html">&lt;p&gt;Take a coat.&lt;/p&gt;</content></entry></feed>`)
		case "/podcast":
			io.WriteString(w, `<rss version="2.0"><channel><title>Talk</title><item><title>Episode 1</title><guid>e1</guid>
				<enclosure url="/1.mp3" type="audio/mpeg" length="1234"/><pubDate>Mon, 02 Mar 2026 12:00:00 GMT</pubDate></item></channel></rss>`)
		}
	}))
}

// The entries of a feed. AllowPrivate is for the example's own server; leave it out for
// feeds of the Internet.
func ExampleFetcher_Timeline() {
	server := site()
	defer server.Close()
	feeds, err := feed.New(feed.Config{Contact: "ops@example.com", AllowPrivate: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := feeds.Timeline(context.Background(), fetcher.TimelineQuery{Username: server.URL + "/news"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, post := range page.Tweets {
		fmt.Printf("%s %s: %q\n", post.PublishedAt.Format(time.RFC3339), post.UserName, post.FullText)
	}
	// Output:
	// 2026-03-02T11:00:00Z News: "Rain & wind\n\nTake a coat."
}

// Two feeds in an engine. Each entry that they publish from now on is an event.
func Example() {
	var published atomic.Bool // the second feed has something new
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `<rss version="2.0"><channel><title>%s</title>`, r.URL.Path)
		if r.URL.Path == "/podcast" && published.Load() {
			fmt.Fprintf(w, `<item><title>Episode 2</title><guid>e2</guid><pubDate>%s</pubDate></item>`, time.Now().Format(time.RFC1123Z))
		}
		io.WriteString(w, `<item><title>From last year</title><guid>e1</guid><pubDate>Sun, 02 Mar 2025 12:00:00 GMT</pubDate></item></channel></rss>`)
	}))
	defer server.Close()
	feeds, err := feed.New(feed.Config{
		Contact:      "ops@example.com",
		AllowPrivate: true,             // for the example's own server
		HostGap:      time.Millisecond, // and this
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	seen := make(chan deliver.Event)
	engine, err := streamwatch.New(streamwatch.Config{
		Sources: []streamwatch.Source{{Name: "feed", Fetcher: feeds, CheckAccount: feed.CheckPrivateAccount}},
		OnEvent: func(_ context.Context, e deliver.Event) error {
			seen <- e
			return nil
		},
		MinInterval: 10 * time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error)
	go func() { done <- engine.Run(ctx) }()

	_, err = engine.Monitors().Create(ctx, monitor.CreateRequest{
		Name: "reading", Usernames: []string{"feed:" + server.URL + "/news", "feed:" + server.URL + "/podcast"}, PollInterval: 20 * time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	published.Store(true)
	fmt.Println((<-seen).TextPreview)
	cancel()
	fmt.Println(<-done)
	// Output:
	// Episode 2
	// <nil>
}
