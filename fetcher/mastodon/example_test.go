package mastodon_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
)

// The newest posts of an account, read without a key. The server here is a
// stand-in; with BaseURL "https://mastodon.social" the program is the same.
func ExampleFetcher_Timeline() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/accounts/lookup":
			io.WriteString(w, `{"id": "42", "username": "ann", "acct": "ann"}`)
		case "/api/v1/accounts/42/statuses":
			io.WriteString(w, `[
				{"id": "2", "created_at": "2026-03-01T12:00:01.250Z", "content": "<p>Tea &amp; cake<br>at four</p>",
				 "url": "https://social.example/@ann/2", "account": {"id": "42", "acct": "ann"}},
				{"id": "1", "created_at": "2026-03-01T09:30:00.000Z", "content": "",
				 "reblog": {"id": "9", "content": "<p>Rain today.</p>", "account": {"acct": "bob@other.example"}},
				 "account": {"id": "42", "acct": "ann"}}]`)
		}
	}))
	defer server.Close()

	m, err := mastodon.New(mastodon.Config{BaseURL: server.URL, UserAgent: "my-watcher/1 (mailto:me@example.com)"})
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := m.Timeline(context.Background(), fetcher.TimelineQuery{Username: "ann"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, post := range page.Tweets {
		fmt.Printf("%s %s %q\n", post.PublishedAt.Format("15:04:05.000"), post.Username, post.Text)
	}
	// Output:
	// 12:00:01.250 ann "Tea & cake\nat four"
	// 09:30:00.000 ann "RT @bob@other.example: Rain today."
}
