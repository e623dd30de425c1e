package mastodon

import (
	"net/http"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Each kind of post is delivered only to who asks for it, and says what it is.
func TestVisibility(t *testing.T) {
	boost := func(own, boosted string) string {
		return `, "visibility": "` + own + `", "reblog": {"id": "9", "visibility": "` + boosted + `"}`
	}
	for _, c := range []struct {
		name, members, visibility string
		least                     string // with which setting the post is delivered
	}{
		{"public", `, "visibility": "public"`, "public", "public"},
		{"of a server without visibilities", ``, "", "public"},
		{"of a server where it is no text", `, "visibility": 7`, "", "public"},
		{"unlisted", `, "visibility": "unlisted"`, "unlisted", ""},
		{"for followers", `, "visibility": "private"`, "private", "private"},
		{"for followers who are followed", `, "visibility": "mutuals_only"`, "mutuals_only", "private"},
		{"for the server's users", `, "visibility": "local"`, "local", "private"},
		{"for a list", `, "visibility": "list:12"`, "list:12", "private"},
		{"for who is mentioned", `, "visibility": "direct"`, "direct", "direct"},
		{"a boost", boost("public", "unlisted"), "unlisted", ""},
		{"a boost for followers", boost("private", "public"), "private", "private"},
		{"a boost of a post for followers", boost("public", "private"), "private", "private"},
	} {
		t.Run(c.name, func(t *testing.T) {
			delivered := false
			for _, setting := range []string{"public", "", "private", "direct"} {
				delivered = delivered || setting == c.least
				s := newServer(t, map[string]http.HandlerFunc{statusesPath: text("[" + minimal("2", 2, c.members) + "," + minimal("1", 1, "") + "]")})
				f := s.fetcher(t, func(cfg *Config) { cfg.Visibility = setting })
				page, err := f.Timeline(t.Context(), fetcher.TimelineQuery{UserID: "42"})
				if err != nil {
					t.Fatal(err)
				}
				n := 1
				if delivered {
					n = 2
				}
				if len(page.Tweets) != n || page.Others != 2-n || page.Tweets[n-1].ID != "1" || page.OldestAt.IsZero() {
					t.Fatalf("with %q the page is %+v, want %d of its two posts", setting, page, n)
				}
				if delivered && page.Tweets[0].Visibility != c.visibility {
					t.Errorf("visibility %q, want %q", page.Tweets[0].Visibility, c.visibility)
				}
			}
		})
	}
}

// A page of posts that are withheld is not an empty one, also when it is unchanged.
func TestPageOfWithheldPosts(t *testing.T) {
	body := "[" + strings.Repeat(minimal("2", 2, `, "visibility": "private"`)+",", 2) + minimal("1", 1, `, "visibility": "private"`) + "]"
	f := newServer(t, map[string]http.HandlerFunc{statusesPath: text(body)}).fetcher(t, func(c *Config) { c.PageSize = 3 })
	q := fetcher.TimelineQuery{UserID: "42", Seen: func(string) bool { return false }}
	page, err := f.Timeline(t.Context(), q)
	if err != nil || len(page.Tweets) != 0 || page.Others != 3 || page.Next != "1" || page.OldestAt.IsZero() {
		t.Fatalf("page %+v, %v", page, err)
	}
	q.Known = page.Version
	again, err := f.Timeline(t.Context(), q)
	if err != nil || !again.Unchanged || again.Skipped != 3 || !again.OldestAt.Equal(page.OldestAt) || again.Next != page.Next {
		t.Errorf("again %+v, %v: want it unchanged, of three posts", again, err)
	}
}
