package bluesky

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// plain is a feed item of Alice's that was posted some time before postedAt.
func plain(ago time.Duration, reason string) string {
	at := postedAt.Add(-ago)
	return `{"post":{"uri":"` + postURI(alice, at) + `","author":` + aliceView + `,"record":{"text":"x"},"indexedAt":"` + stampOf(at.Add(time.Second)) + `"}` + reason + `}`
}

const pinReason = `,"reason":{"$type":"app.bsky.feed.defs#reasonPin"}`

func TestAuthorFeedRequest(t *testing.T) {
	p := serve(t, answers{"app.bsky.feed.getAuthorFeed": body(feed())})
	page, err := p.open(t, false).Timeline(t.Context(), fetcher.TimelineQuery{Username: alice, Cursor: "2025-03-01T12:00:00Z", Limit: 7})
	if err != nil {
		t.Fatal(err)
	}
	want := "app.bsky.feed.getAuthorFeed?" + url.Values{
		"actor": {alice}, "cursor": {"2025-03-01T12:00:00Z"}, "filter": {"posts_with_replies"}, "includePins": {"false"}, "limit": {"7"},
	}.Encode()
	if got := p.taken(); !slices.Equal(got, []string{want}) {
		t.Errorf("calls %q, want %q", got, want)
	}
	if !page.RateLimit.Known || page.RateLimit.Remaining != 2999 || page.RateLimit.Limit != 3000 || !page.RateLimit.Reset.Equal(now.Add(5*time.Minute)) {
		t.Errorf("rate limit %+v", page.RateLimit)
	}
	if !page.ServerTime.Equal(now) {
		t.Errorf("server time %s, want %s", page.ServerTime, now)
	}
}

func TestFeedPaging(t *testing.T) {
	for _, c := range []struct{ name, asked, given, next string }{
		{"first page", "", `"b"`, "b"},
		{"older page", "b", `"c"`, "c"},
		{"the end", "c", `null`, ""},
		{"the cursor that was asked for", "b", `"b"`, ""},
		{"a cursor of another type", "b", `7`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := serve(t, answers{"app.bsky.feed.getAuthorFeed": body(`{"feed":[],"cursor":` + c.given + `}`)})
			page, err := p.open(t, false).Timeline(t.Context(), fetcher.TimelineQuery{Username: alice, Cursor: c.asked})
			if err != nil {
				t.Fatal(err)
			}
			if page.Next != c.next {
				t.Errorf("next %q, want %q", page.Next, c.next)
			}
		})
	}
}

func TestKnownPostsAreSkippedButReached(t *testing.T) {
	items := feed(
		plain(90*24*time.Hour, pinReason),
		plain(0, ""), plain(time.Minute, ""), repost(aliceView+`,"uri":"REPOST","indexedAt":"INDEXED"`), plain(3*time.Minute, ""), plain(2*time.Minute, ""))
	for _, c := range []struct {
		name    string
		known   func(id string) bool
		skipped int
		left    int
	}{
		{"nothing is asked", nil, 0, 6},
		{"nothing is known", func(string) bool { return false }, 0, 6},
		{"everything is known", func(string) bool { return true }, 6, 0},
		{"a repost is known by its own id", func(id string) bool { return id == repostURI(alice, postedAt) }, 1, 5},
		{"and not by the original's", func(id string) bool { return id == postURI(bob, postedAt.Add(-time.Hour)) }, 0, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			page, err := decodeFeed([]byte(doc(items)), account{did: alice}, now, c.known)
			if err != nil {
				t.Fatal(err)
			}
			if page.Skipped != c.skipped || len(page.Tweets) != c.left {
				t.Errorf("%d skipped, %d left, want %d and %d", page.Skipped, len(page.Tweets), c.skipped, c.left)
			}
			// The later of the last two, and the pinned post not among them.
			if want := postedAt.Add(-2 * time.Minute); !page.OldestAt.Equal(want) {
				t.Errorf("reaches back to %s, want %s", page.OldestAt, want)
			}
		})
	}
}

func TestKnownItemsAreNotDecoded(t *testing.T) {
	const n = defaultPageSize
	one := plain(0, "")
	body := []byte(doc(feed(strings.Repeat(one+",", n-1) + one)))
	got := math.Inf(1)
	for range 5 { // the least, as goroutines of other tests allocate, too
		got = min(got, testing.AllocsPerRun(20, func() {
			if p, err := decodeFeed(body, account{did: alice}, now, func(string) bool { return true }); err != nil || p.Skipped != n {
				t.Fatalf("skipped %d, error %v", p.Skipped, err)
			}
		}))
	}
	if got > n+1 {
		t.Errorf("%g allocations for %d known items, want their ids'", got, n)
	}
}

func TestTheLastOfSeveralLists(t *testing.T) {
	first, last := plain(time.Minute, ""), plain(0, "")
	for _, c := range []struct{ name, body string }{
		{"lists", `{"feed":[` + first + `,` + first + `],"cursor":"a","feed":[` + last + `],"cursor":"b"}`},
		{"a list and no list", `{"feed":[` + last + `],"feed":null,"cursor":"b"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			page, err := decodeFeed([]byte(doc(c.body)), account{did: alice}, now, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Tweets) != 1 || page.Tweets[0].ID != postURI(alice, postedAt) || page.Next != "b" {
				t.Errorf("%d posts, next %q, want the last list and cursor", len(page.Tweets), page.Next)
			}
		})
	}
}

func TestPinned(t *testing.T) {
	page, err := decodeFeed([]byte(doc(feed(plain(48*time.Hour, pinReason), plain(0, "")))), account{did: alice}, now, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !page.Tweets[0].Pinned || page.Tweets[1].Pinned {
		t.Errorf("pinned %t and %t, want the first only", page.Tweets[0].Pinned, page.Tweets[1].Pinned)
	}
	if !page.OldestAt.Equal(postedAt) {
		t.Errorf("reaches back to %s, want %s", page.OldestAt, postedAt)
	}
	page, err = decodeFeed([]byte(doc(feed(plain(0, pinReason), plain(48*time.Hour, "")))), account{did: alice}, now, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := postedAt.Add(-48 * time.Hour); !page.OldestAt.Equal(want) {
		t.Errorf("below a new pinned post it reaches back to %s, want %s", page.OldestAt, want)
	}
}

func FuzzDecodeFeed(f *testing.F) {
	for _, s := range []string{
		feed(plain(0, pinReason), plain(time.Minute, ""), repost(aliceView+`,"uri":"REPOST","indexedAt":"INDEXED"`), `null`),
		feed(post(`"text":"né #x","facets":[{"index":{"byteStart":4,"byteEnd":6},"features":[{"$type":"app.bsky.richtext.facet#tag","tag":"x"}]}]`,
			`,"embed":{"media":{"images":[{"fullsize":"https://cdn.example/f"}]},"record":`+quotedView+`}`)),
		`{"feed":[{"post":{"uri":"POST","embed":{"external":{"uri":"https://e","thumb":{"cid":"x"}}}}}],"cursor":"c"}`,
		`{"feed":null}`, `<html>`,
	} {
		f.Add([]byte(doc(s)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		page, err := decodeFeed(b, account{did: alice, name: "alice.example.com"}, now, func(id string) bool { return strings.HasSuffix(id, "a") })
		if err != nil {
			return
		}
		if len(page.Tweets)+page.Skipped > maxItems {
			t.Errorf("%d posts, want at most %d", len(page.Tweets)+page.Skipped, maxItems)
		}
		for _, tw := range page.Tweets {
			checkSound(t, tw)
		}
	})
}

// checkSound holds for every post, whatever the answer was.
func checkSound(t *testing.T, tw fetcher.Tweet) {
	t.Helper()
	if tw.ID == "" && (tw.Text != "" || !tw.PublishedAt.IsZero()) {
		t.Errorf("a post without an id is not empty: %+v", tw)
	}
	runes := len([]rune(tw.Text))
	check := func(at []int) {
		if len(at) != 2 || at[0] < 0 || at[0] >= at[1] || at[1] > runes {
			t.Errorf("indices %v in a text of %d code points", at, runes)
		}
	}
	for _, h := range tw.Hashtags {
		check(h.Indices)
	}
	for _, m := range tw.UserMentions {
		check(m.Indices)
	}
	_ = tw.AppendJSON(nil)
}
