package replay_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/enginetest/arrivals"
	"github.com/streamwatch/streamwatch/enginetest/replay"
	"github.com/streamwatch/streamwatch/fetcher"
)

// every makes a recording of accounts that post at each multiple of their step.
func every(length time.Duration, steps ...time.Duration) *arrivals.Recording {
	a := &arrivals.Recording{Name: "steps", Start: time.Unix(1000, 0), Length: length}
	for _, step := range steps {
		var posts []time.Duration
		for at := step; at <= length; at += step {
			posts = append(posts, at)
		}
		a.Posts = append(a.Posts, posts)
	}
	return a
}

func timeline(t *testing.T, f fetcher.Fetcher, q fetcher.TimelineQuery) fetcher.Page {
	t.Helper()
	page, err := f.Timeline(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// numbers gives the numbers of a page's posts, which are their texts.
func numbers(page fetcher.Page) string {
	var list []string
	for _, tw := range page.Tweets {
		list = append(list, strings.TrimPrefix(tw.Text, "Post "))
	}
	return strings.Join(list, " ")
}

func TestReplayPages(t *testing.T) {
	// Posts 1 to 7 of account0002 at 10 s to 70 s.
	a := every(70*time.Second, time.Hour, 10*time.Second)
	for _, tc := range []struct {
		name  string
		at    time.Duration // since the start, as played
		speed float64
		query fetcher.TimelineQuery
		want  string // posts, then <more> and number skipped
	}{
		{"nothing yet", 9999 * time.Millisecond, 1, fetcher.TimelineQuery{}, ""},
		{"a post at its moment", 10 * time.Second, 1, fetcher.TimelineQuery{}, "1"},
		{"newest first", 35 * time.Second, 1, fetcher.TimelineQuery{}, "3 2 1"},
		{"a full page", 50 * time.Second, 1, fetcher.TimelineQuery{}, "5 4 3 <more>"},
		{"the next page", 50 * time.Second, 1, fetcher.TimelineQuery{Cursor: "3"}, "2 1"},
		{"a page that is exactly full", 50 * time.Second, 1, fetcher.TimelineQuery{Cursor: "4"}, "3 2 1"},
		{"a cursor after new posts", 70 * time.Second, 1, fetcher.TimelineQuery{Cursor: "3"}, "2 1"},
		{"a limit", 50 * time.Second, 1, fetcher.TimelineQuery{Limit: 2}, "5 4 <more>"},
		{"a limit above the page size", 50 * time.Second, 1, fetcher.TimelineQuery{Limit: 9}, "5 4 3 <more>"},
		{"after the end", time.Hour, 1, fetcher.TimelineQuery{}, "7 6 5 <more>"},
		{"ten times as fast", 1500 * time.Millisecond, 10, fetcher.TimelineQuery{}, "1"},
		{"half as fast", 50 * time.Second, 0.5, fetcher.TimelineQuery{}, "2 1"},
		{"what is seen is left out", 50 * time.Second, 1, fetcher.TimelineQuery{Seen: func(string) bool { return true }}, "<more> 3"},
		{"the account's id", 10 * time.Second, 1, fetcher.TimelineQuery{Username: "renamed", UserID: "100002"}, "1"},
		{"another spelling", 10 * time.Second, 1, fetcher.TimelineQuery{Username: "@Account0002"}, "1"},
		{"an account that never posts", time.Hour, 1, fetcher.TimelineQuery{Username: "account0001"}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := replay.New(replay.Config{Arrivals: a, Speed: tc.speed, PageSize: 3})
			<-time.After(tc.at)
			q := tc.query
			if q.Username == "" {
				q.Username = "account0002"
			}
			if n, err := strconv.Atoi(q.Cursor); err == nil {
				q.Cursor = idOf(t, r, q.Username, n)
			}
			page := timeline(t, r, q)
			got := []string{numbers(page)}
			if page.Next != "" {
				got = append(got, "<more>")
			}
			if page.Skipped > 0 {
				got = append(got, strconv.Itoa(page.Skipped))
			}
			if s := strings.TrimSpace(strings.Join(got, " ")); s != tc.want {
				t.Errorf("%s: got %q, want %q", tc.name, s, tc.want)
			}
		})
	}
}

// idOf reads on until it comes to an account's n-th post.
func idOf(t *testing.T, r *replay.Replay, username string, n int) string {
	q := fetcher.TimelineQuery{Username: username}
	for {
		page := timeline(t, r, q)
		for _, tw := range page.Tweets {
			if tw.Text == fmt.Sprintf("Post %d", n) {
				return tw.ID
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			t.Fatalf("%s shows no post %d", username, n)
		}
	}
}

// Whatever is asked, and whenever, pages agree with a model that only knows
// which posts are out.
func TestReplayAgreesWithModel(t *testing.T) {
	a := arrivals.Generate(arrivals.Config{Seed: 2, Accounts: 5, Duration: 24 * time.Hour, PerDay: 200, Burst: 0.9})
	a.Posts[0] = slices.Repeat(a.Posts[0][:1], 50) // at one moment
	const speed = 7.5
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r := replay.New(replay.Config{Arrivals: a, Speed: speed, PageSize: 7})
		for range 48 {
			<-time.After(time.Duration(float64(time.Hour) / 2 / speed))
			now := time.Since(start)
			for i := range a.Posts {
				var want, got []string
				for k, at := range slices.Backward(a.Posts[i]) {
					if played := float64(at) / speed; played <= float64(now) {
						at := start.Add(time.Duration(math.Round(played))).UTC()
						want = append(want, fmt.Sprintf("Post %d %s", k+1, at))
					}
				}
				q := fetcher.TimelineQuery{UserID: strconv.Itoa(100_001 + i)}
				for more := true; more; more = q.Cursor != "" {
					page := timeline(t, r, q)
					for _, tw := range page.Tweets {
						got = append(got, fmt.Sprintf("%s %s", tw.Text, tw.PublishedAt))
					}
					if q.Cursor = page.Next; q.Cursor != "" && len(page.Tweets) != 7 {
						t.Fatalf("%d posts on a page that is not the last", len(page.Tweets))
					}
					if page.UserID != q.UserID || !page.ServerTime.Equal(time.Now()) {
						t.Fatalf("page of %s at %s, want of %s now", page.UserID, page.ServerTime, q.UserID)
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("account %d after %s: %d posts, want %d; %v", i, now, len(got), len(want), got)
				}
			}
		}
	})
}

// Ids carry the played time, are unique among all accounts, and the same in
// every replay.
func TestReplayIDs(t *testing.T) {
	a := every(time.Minute, time.Second, time.Second, 500*time.Millisecond)
	start := time.Now().Add(-time.Minute)
	read := func() map[string]fetcher.Tweet {
		r := replay.New(replay.Config{Arrivals: a, Start: start, Speed: 1000, PageSize: 1000})
		posts := make(map[string]fetcher.Tweet)
		for _, name := range enginetest.AccountNames(3) {
			page := timeline(t, r, fetcher.TimelineQuery{Username: name})
			for _, tw := range page.Tweets {
				posts[tw.ID] = tw
			}
		}
		return posts
	}
	posts := read()
	if len(posts) != 240 {
		t.Errorf("%d ids, want 240", len(posts))
	}
	for id, tw := range posts {
		if at, ok := fetcher.SnowflakeTime(id); !ok || !at.Equal(tw.PublishedAt.Truncate(time.Millisecond)) {
			t.Errorf("id %s carries %s, published %s", id, at, tw.PublishedAt)
		}
	}
	for id := range read() {
		if _, ok := posts[id]; !ok {
			t.Errorf("id %s is new in the second replay", id)
		}
	}
}

func TestReplayLatePosts(t *testing.T) {
	a := every(2000*time.Second, time.Second)
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		r := replay.New(replay.Config{Arrivals: a, Speed: 2, LateShare: 0.25, LateUpTo: 8 * time.Second, PageSize: 1000, Seed: 9})
		late, seen := 0, make(map[string]bool)
		for range 20_100 { // steps of 50 ms: 0.1 s recorded
			page := timeline(t, r, fetcher.TimelineQuery{Username: "account0001", Limit: 30, Seen: func(id string) bool { return seen[id] }})
			for _, tw := range page.Tweets {
				seen[tw.ID] = true
				after := time.Since(tw.PublishedAt)
				if after > 4050*time.Millisecond {
					t.Fatalf("%s appeared after %s, want at most 8s recorded", tw.Text, after)
				}
				if after > 50*time.Millisecond {
					late++
				}
			}
			<-time.After(50 * time.Millisecond)
		}
		if len(seen) != 2000 || late < 440 || late > 560 {
			t.Errorf("after %s %d posts, %d late, want 2000 and about 500", time.Since(begun), len(seen), late)
		}
	})
}

// A page costs what is on it, not what the account ever posted: walking over a
// million posts would take a thousand times as long.
func TestReplayPageOfLongHistory(t *testing.T) {
	fastest := func(posts int) time.Duration {
		a := every(time.Duration(posts)*time.Millisecond, time.Millisecond)
		r := replay.New(replay.Config{Arrivals: a, Start: time.Now().Add(-time.Hour)})
		best := time.Hour
		for range 100 {
			begun := time.Now()
			timeline(t, r, fetcher.TimelineQuery{Username: "account0001"})
			best = min(best, time.Since(begun))
		}
		return best
	}
	if short, long := fastest(100), fastest(1_000_000); long > 20*short {
		t.Errorf("%s for a page of a million posts, %s of a hundred", long, short)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(c *replay.Config)
		want   string
	}{
		{"no recording", func(c *replay.Config) { c.Arrivals = nil }, "Config.Arrivals: there is no recording"},
		{"a recording out of order", func(c *replay.Config) { c.Arrivals.Posts[0][0] = time.Hour }, "posts of account 0"},
		{"a start before 2000", func(c *replay.Config) { c.Start = time.Unix(0, 0) }, "Start 1970"},
		{"a speed too high", func(c *replay.Config) { c.Speed = 2e6 }, "Speed 2e+06"},
		{"a speed that is none", func(c *replay.Config) { c.Speed = math.NaN() }, "Speed NaN"},
		{"ten years made a hundred", func(c *replay.Config) { c.Arrivals.Length, c.Speed = 10*365*24*time.Hour, 0.1 }, "Speed 0.1 is not allowed: want the recording"},
		{"a negative page size", func(c *replay.Config) { c.PageSize = -1 }, "PageSize -1"},
		{"a negative latency", func(c *replay.Config) { c.MinLatency = -1 }, "MinLatency -1ns"},
		{"latencies the wrong way round", func(c *replay.Config) { c.MinLatency, c.MaxLatency = 2, 1 }, "MaxLatency 1ns"},
		{"a share above 1", func(c *replay.Config) { c.ErrorShare = 1.5 }, "ErrorShare 1.5"},
		{"a negative share", func(c *replay.Config) { c.LateShare = -1 }, "LateShare -1"},
		{"a negative delay", func(c *replay.Config) { c.LateUpTo = -1 }, "LateUpTo -1ns"},
		{"a negative limit", func(c *replay.Config) { c.RateLimit = -1 }, "RateLimit -1"},
		{"a negative window", func(c *replay.Config) { c.RateWindow = -1 }, "RateWindow -1ns"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := replay.Config{Arrivals: tiny()}
			tc.change(&cfg)
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, tc.want) {
					t.Errorf("panic %q, want one that says %q", got, tc.want)
				}
			}()
			replay.New(cfg)
		})
	}
}
