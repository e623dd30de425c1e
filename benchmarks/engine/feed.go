package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/fetcher"
)

const (
	pagePosts = 20
	basePages = 64 // differing pages that the accounts share
	ownPosts  = 4  // new posts of an account that its page keeps showing
)

// feed is a Fetcher that answers at once, from pages built beforehand: the engine
// is measured. A page has 20 posts: the account's newest up
// to four, then old ones, and says that there are older ones to be had. It
// allocates for new posts only.
type feed struct {
	accounts []timeline
	base     [basePages]basePage
	template fetcher.Tweet
	share    float64                       // of the polls that find a new post
	posting  atomic.Bool                   // no posts before it is set
	hold     atomic.Pointer[chan struct{}] // while not nil, answers wait for it

	down   atomic.Bool  // every call fails
	asked  atomic.Int64 // accounts that were read at least once
	failed atomic.Int64 // accounts that failed at least once
	errors atomic.Int64 // calls that failed
	shown  atomic.Int64 // new posts published
}

// timeline is an account. Calls for one account come one at a time.
type timeline struct {
	asked  bool
	failed bool
	n      uint8
	own    [ownPosts]string // ids, newest first
}

type basePage struct {
	ids    [pagePosts]string
	tweets []fetcher.Tweet
	oldest time.Time
}

func newFeed(accounts int, share float64) *feed {
	now := time.Now()
	f := &feed{accounts: make([]timeline, accounts), share: share, template: fetcher.Tweet{
		Text:      "A post of ordinary length, such as an account publishes a few times a day, with nothing attached to it.",
		CreatedAt: fetcher.FormatTime(now), Lang: "en", UserName: "An Account",
		User: &fetcher.User{ID: "1", Username: "account", Name: "An Account", FollowersCount: 1234},
	}}
	f.template.FullText = f.template.Text
	for p := range f.base {
		b := &f.base[p]
		for i := range b.ids {
			at := now.Add(-time.Hour - time.Duration(p*pagePosts+i)*time.Minute)
			b.ids[i] = strconv.FormatUint(fetcher.SnowflakeAt(at)+uint64(p), 10)
			tw := f.template
			tw.ID, tw.PublishedAt = b.ids[i], at
			b.tweets = append(b.tweets, tw)
			b.oldest = at
		}
	}
	return f
}

// username names an account; index is its inverse.
func username(i int) string { return fmt.Sprintf("a%07d", i) }

func index(username string) int {
	n := 0
	for i := 1; i < len(username); i++ {
		n = n*10 + int(username[i]-'0')
	}
	return n
}

var errDown = errors.New("feed: the platform is down")

var errOlder = errors.New("feed: asked for an older page although the first one reaches back far enough")

// Timeline implements fetcher.Fetcher.
func (f *feed) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	if hold := f.hold.Load(); hold != nil {
		select {
		case <-*hold:
		case <-ctx.Done():
			return fetcher.Page{}, ctx.Err()
		}
	}
	if q.Cursor != "" {
		return fetcher.Page{}, errOlder
	}
	i := index(q.Username)
	t, b := &f.accounts[i], &f.base[i%basePages]
	if f.down.Load() {
		f.errors.Add(1)
		if !t.failed {
			t.failed = true
			f.failed.Add(1)
		}
		return fetcher.Page{}, errDown
	}
	pg := fetcher.Page{OldestAt: b.oldest, Next: "older", UserID: q.Username[1:]}
	if !t.asked {
		t.asked = true
		f.asked.Add(1)
	} else if f.share > 0 && f.posting.Load() && rand.Float64() < f.share {
		f.post(t)
	}
	if q.Seen == nil && t.n == 0 {
		pg.Tweets = b.tweets
		return pg, nil
	}
	for k, id := range t.own[:t.n] {
		if q.Seen != nil && q.Seen(id) {
			pg.Skipped++
			continue
		}
		if pg.Tweets == nil {
			pg.Tweets = make([]fetcher.Tweet, 0, int(t.n)-k)
		}
		tw := f.template
		tw.ID, tw.Username, tw.UserID = id, q.Username, pg.UserID
		tw.PublishedAt, _ = fetcher.SnowflakeTime(id)
		pg.Tweets = append(pg.Tweets, tw)
	}
	for k := range pagePosts - int(t.n) {
		if q.Seen != nil && q.Seen(b.ids[k]) {
			pg.Skipped++
			continue
		}
		pg.Tweets = append(pg.Tweets, b.tweets[k])
	}
	return pg, nil
}

// post publishes a new post of an account.
func (f *feed) post(t *timeline) {
	id := fetcher.SnowflakeAt(time.Now()) + uint64(f.shown.Add(1))&(1<<22-1)
	copy(t.own[1:], t.own[:])
	t.own[0] = strconv.FormatUint(id, 10)
	t.n = min(t.n+1, ownPosts)
}

// stop lets no answer out until release is called. It returns once polls, a
// contestant's counter, does not move any more.
func (f *feed) stop(polls func() int64) (release func()) {
	hold := make(chan struct{})
	f.hold.Store(&hold)
	for last := int64(-1); last != polls(); {
		last = polls()
		time.Sleep(20 * time.Millisecond)
	}
	return func() {
		f.hold.Store(nil)
		close(hold)
	}
}

// alone is the processor time that a call takes without an engine, in
// nanoseconds, with a Seen that knows every post.
func (f *feed) alone(d time.Duration) float64 {
	f.posting.Store(false)
	f.down.Store(false)
	names := make([]string, len(f.accounts))
	for i, n := range rand.Perm(len(names)) {
		names[i] = username(n)
	}
	seen := func(string) bool { return true }
	n, start, cpu := 0, time.Now(), report.CPU()
	for time.Since(start) < d {
		for range 100 {
			pg, err := f.Timeline(context.Background(), fetcher.TimelineQuery{Username: names[n%len(names)], Seen: seen})
			if err != nil || pg.Skipped != pagePosts {
				panic(fmt.Sprintf("feed: skipped %d posts, %v", pg.Skipped, err))
			}
			n++
		}
	}
	return float64((report.CPU() - cpu).Nanoseconds()) / float64(n)
}
