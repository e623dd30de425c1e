package bluesky_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/bluesky"
)

// A stand-in for https://public.api.bsky.app, which is what Config{} reads.
func appView(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "com.atproto.identity.resolveHandle") {
		fmt.Fprint(w, `{"did":"did:plc:example"}`)
		return
	}
	fmt.Fprint(w, `{"cursor":"2024-08-20T16:31:36Z","feed":[{"post":{
		"uri":"at://did:plc:example/app.bsky.feed.post/3l25zusnsfctk",
		"author":{"did":"did:plc:example","handle":"news.example.com"},
		"record":{"text":"Hello, network","createdAt":"2024-08-20T16:31:35Z"},
		"likeCount":12,"indexedAt":"2024-08-20T16:31:36.100Z"}}]}`)
}

func Example() {
	server := httptest.NewServer(http.HandlerFunc(appView))
	defer server.Close()

	b, err := bluesky.New(bluesky.Config{BaseURL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := b.Timeline(context.Background(), fetcher.TimelineQuery{Username: "news.example.com"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range page.Tweets {
		fmt.Println(t.Text, t.FavoriteCount)
		fmt.Println(t.PublishedAt)
		fmt.Println(t.Permalink)
	}
	fmt.Println(page.UserID, page.Next)
	// Output:
	// Hello, network 12
	// 2024-08-20 16:31:35.793 +0000 UTC
	// https://bsky.app/profile/news.example.com/post/3l25zusnsfctk
	// did:plc:example 2024-08-20T16:31:36Z
}

func ExampleTIDTime() {
	at, ok := bluesky.TIDTime("3l25zusnsfctk")
	fmt.Println(at, ok)
	_, ok = bluesky.TIDTime("self")
	fmt.Println(ok)
	// Output:
	// 2024-08-20 16:31:35.793 +0000 UTC true
	// false
}
