package enginetest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
)

// clock is a clock that a test sets.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time          { return c.now }
func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

// newPlatform has the accounts nasa and esa, and the clock of the test.
func newPlatform(c *clock, cfg enginetest.PlatformConfig) *enginetest.Platform {
	cfg.Accounts, cfg.Now = []string{"nasa", "esa"}, c.Now
	return enginetest.NewPlatform(cfg)
}

func read(t *testing.T, p *enginetest.Platform, q fetcher.TimelineQuery) fetcher.Page {
	t.Helper()
	page, err := p.Timeline(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func texts(page fetcher.Page) string {
	var all []string
	for _, tw := range page.Tweets {
		all = append(all, tw.Text)
	}
	return strings.Join(all, " ")
}

func TestTimelineShowsPosts(t *testing.T) {
	start := newClock().now
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	for _, tc := range []struct {
		name   string
		script func(p *enginetest.Platform, c *clock)
		want   string
	}{
		{"nothing before the first post", func(*enginetest.Platform, *clock) {}, ""},
		{"newest first", func(p *enginetest.Platform, c *clock) {
			p.Post("nasa", "one")
			c.advance(time.Second)
			p.Post("nasa", "two")
		}, "two one"},
		{"in the order of calls within a millisecond", func(p *enginetest.Platform, c *clock) {
			p.Post("nasa", "one")
			p.Post("nasa", "two")
			p.Post("nasa", "three")
		}, "three two one"},
		{"its own posts alone", func(p *enginetest.Platform, c *clock) {
			p.Post("esa", "other")
			p.Post("@NASA", "own")
		}, "own"},
		{"by publication and not by appearance", func(p *enginetest.Platform, c *clock) {
			p.PostAt("nasa", "second", at(2), at(2))
			p.PostAt("nasa", "first", at(1), at(3))
			c.now = at(3)
		}, "second first"},
		{"not before it is visible", func(p *enginetest.Platform, c *clock) {
			p.PostAt("nasa", "due", at(-9), at(1))
			p.PostAt("nasa", "late", at(-8), at(2))
			c.now = at(1)
		}, "due"},
		{"never visible before publication", func(p *enginetest.Platform, c *clock) {
			p.PostAt("nasa", "to come", at(1), at(-1))
		}, ""},
		{"visible at once for a zero time", func(p *enginetest.Platform, c *clock) {
			p.PostAt("nasa", "old", at(-3600), time.Time{})
		}, "old"},
		{"not after it is deleted", func(p *enginetest.Platform, c *clock) {
			p.Post("nasa", "stays")
			p.Delete("nasa", p.Post("nasa", "goes").ID)
		}, "stays"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newClock()
			p := newPlatform(c, enginetest.PlatformConfig{})
			tc.script(p, c)
			if got := texts(read(t, p, fetcher.TimelineQuery{Username: "nasa"})); got != tc.want {
				t.Errorf("timeline shows %q, want %q", got, tc.want)
			}
		})
	}
}

func TestPostIsWhatReadersSee(t *testing.T) {
	c := newClock()
	c.advance(1234567 * time.Nanosecond)
	p := newPlatform(c, enginetest.PlatformConfig{})
	posted := p.Post("nasa", "Lift-off")
	page := read(t, p, fetcher.TimelineQuery{Username: "nasa"})
	seen := page.Tweets[0]

	want := c.now.Truncate(time.Millisecond)
	if !seen.PublishedAt.Equal(want) || seen.CreatedAt != fetcher.FormatTime(want) {
		t.Errorf("published %s (%s), want %s, to the millisecond", seen.PublishedAt, seen.CreatedAt, want)
	}
	if at, ok := fetcher.SnowflakeTime(seen.ID); !ok || !at.Equal(want) {
		t.Errorf("id %s decodes to %s, want %s", seen.ID, at, want)
	}
	if seen.Username != "nasa" || seen.UserID != page.UserID || seen.User == nil || seen.User.ID != page.UserID {
		t.Errorf("author %q, id %q, want nasa with the page's id %q", seen.Username, seen.UserID, page.UserID)
	}
	if string(posted.AppendJSON(nil)) != string(seen.AppendJSON(nil)) {
		t.Errorf("Post gave %s, readers see %s", posted.AppendJSON(nil), seen.AppendJSON(nil))
	}
	if !page.ServerTime.Equal(c.now) {
		t.Errorf("server time %s, want %s", page.ServerTime, c.now)
	}
}

func TestPostOptions(t *testing.T) {
	p := newPlatform(newClock(), enginetest.PlatformConfig{})
	original := p.Post("esa", "original")
	reply := p.Post("nasa", "reply", enginetest.ReplyTo(original))
	further := p.Post("esa", "further", enginetest.ReplyTo(reply))
	quote := p.Post("nasa", "quote", enginetest.Quoting(original))
	retweet := p.Post("nasa", "", enginetest.Retweeting(original))
	for _, tc := range []struct{ name, got, want string }{
		{"a reply names the post", reply.InReplyToStatusID, original.ID},
		{"a reply names the author", reply.InReplyToUserID, original.UserID},
		{"a reply is in the conversation", reply.ConversationID, original.ID},
		{"so is a reply to it", further.ConversationID, original.ID},
		{"a quote names the post", quote.QuotedStatusID, original.ID},
		{"a retweet names the post", retweet.RetweetedStatusID, original.ID},
		{"a retweet repeats the text", retweet.Text, "RT @esa: original"},
		{"flags", fmt.Sprint(reply.IsReply(), quote.IsQuoteStatus, retweet.IsRetweet, original.IsReply(), original.IsQuoteStatus, original.IsRetweet), "true true true false false false"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, tc.got, tc.want)
		}
	}
}

func TestIDsAreUniqueAndFollowPublication(t *testing.T) {
	for _, tc := range []struct {
		name  string
		start time.Time
	}{
		{"snowflakes", newClock().now},
		{"before snowflakes, as in a synctest bubble", time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"the last moment before snowflakes", time.UnixMilli(1288834974656)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &clock{tc.start}
			p := newPlatform(c, enginetest.PlatformConfig{PageSize: 100_000})
			for range 50 {
				for range 200 { // a burst within one millisecond
					p.Post("nasa", "x")
				}
				c.advance(time.Millisecond)
			}
			posts := read(t, p, fetcher.TimelineQuery{Username: "nasa"}).Tweets
			if len(posts) != 10_000 {
				t.Fatalf("%d posts, want 10000", len(posts))
			}
			ids := make(map[string]bool)
			for i, tw := range posts {
				ids[tw.ID] = true
				if i > 0 && tw.PublishedAt.After(posts[i-1].PublishedAt) {
					t.Fatalf("post %d is later than the one above it", i)
				}
				at, ok := fetcher.SnowflakeTime(tw.ID)
				if ok && at.Sub(tw.PublishedAt).Abs() > time.Millisecond {
					t.Fatalf("id %s means %s, published %s", tw.ID, at, tw.PublishedAt)
				}
			}
			if len(ids) != len(posts) {
				t.Errorf("%d ids for %d posts", len(ids), len(posts))
			}
		})
	}
}

func TestLatePosts(t *testing.T) {
	c := newClock()
	p := newPlatform(c, enginetest.PlatformConfig{Seed: 3, LateShare: 0.25, LateUpTo: time.Minute, PageSize: 1000})
	for range 1000 {
		p.Post("nasa", "x")
	}
	atOnce := len(read(t, p, fetcher.TimelineQuery{Username: "nasa"}).Tweets)
	if atOnce < 700 || atOnce > 800 {
		t.Errorf("%d of 1000 posts are visible at once, want about 750", atOnce)
	}
	if n := len(p.Posted()); n != atOnce {
		t.Errorf("Posted has %d posts, %d are visible", n, atOnce)
	}
	c.advance(30 * time.Second)
	half := len(read(t, p, fetcher.TimelineQuery{Username: "nasa"}).Tweets)
	if want := (atOnce + 1000) / 2; half < want-40 || half > want+40 {
		t.Errorf("%d posts are visible after half the time, want about %d", half, want)
	}
	c.advance(30 * time.Second)
	if n := len(read(t, p, fetcher.TimelineQuery{Username: "nasa"}).Tweets); n != 1000 {
		t.Errorf("%d posts are visible after LateUpTo, want all 1000", n)
	}
	truth := p.Posted()
	if !slices.IsSortedFunc(truth, func(a, b enginetest.Truth) int { return a.VisibleAt.Compare(b.VisibleAt) }) {
		t.Error("Posted is not sorted by VisibleAt")
	}
	for _, tr := range truth {
		if late := tr.VisibleAt.Sub(tr.PublishedAt); late < 0 || late > time.Minute {
			t.Fatalf("a post was %s late, want up to a minute", late)
		}
	}
}

func TestBadCursor(t *testing.T) {
	p := newPlatform(newClock(), enginetest.PlatformConfig{})
	_, err := p.Timeline(t.Context(), fetcher.TimelineQuery{Username: "nasa", Cursor: "page 2"})
	if err == nil || !strings.Contains(err.Error(), `Cursor "page 2" is not allowed`) {
		t.Errorf("error %v, want one that names the cursor", err)
	}
}
