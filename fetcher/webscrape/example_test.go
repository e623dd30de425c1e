package webscrape_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/webscrape"
)

// A page as Markdown. AllowPrivate is for the example's own server; leave it out
// for pages that others name.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			io.WriteString(w, "User-agent: *\nDisallow: /admin")
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, `<title>News</title><h1>Today</h1><p>Rain, <b>then</b> sun.<script>track()</script>`)
		}
	}))
	defer server.Close()

	s, err := webscrape.New(webscrape.Config{AllowPrivate: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := s.Scrape(context.Background(), fetcher.ScrapeQuery{URL: server.URL + "/news", Format: "markdown"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n---\n%s\n---\n", page.Title, page.Content)

	_, err = s.Scrape(context.Background(), fetcher.ScrapeQuery{URL: server.URL + "/admin"})
	fmt.Println(errors.Is(err, webscrape.ErrDisallowed))
	// Output:
	// News
	// ---
	// # Today
	//
	// Rain, **then** sun.
	// ---
	// true
}
