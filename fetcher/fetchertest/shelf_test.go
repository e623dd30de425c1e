package fetchertest

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// shelf is a platform kept in memory, and a sound Fetcher of it: cursors are
// places from the oldest post on.
type shelf struct {
	mu       sync.Mutex
	size     int
	accounts []string
	posts    []fetcher.Tweet // of all accounts, oldest first
	closed   map[string]bool
	err      error // of every call
	stalled  bool
}

func (s *shelf) post(account, text string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tw := fetcher.Tweet{ID: fmt.Sprint("post-", len(s.posts)), Text: text, FullText: text, Username: account, UserID: "id of " + account,
		PublishedAt: at, CreatedAt: fetcher.FormatTime(at)}
	i, _ := slices.BinarySearchFunc(s.posts, at, func(tw fetcher.Tweet, at time.Time) int {
		if tw.PublishedAt.After(at) {
			return 1
		}
		return -1
	})
	s.posts = slices.Insert(s.posts, i, tw)
}

func (s *shelf) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	s.mu.Lock()
	stalled := s.stalled
	s.mu.Unlock()
	if stalled {
		<-ctx.Done()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch i := slices.Index(s.accounts, q.Username); {
	case ctx.Err() != nil:
		return fetcher.Page{}, fmt.Errorf("shelf: %w", ctx.Err())
	case s.err != nil:
		return fetcher.Page{}, fmt.Errorf("shelf: %w", s.err)
	case i < 0:
		return fetcher.Page{}, fmt.Errorf("shelf: account %q: %w", q.Username, fetcher.ErrNotFound)
	case s.closed[q.Username]:
		return fetcher.Page{}, fmt.Errorf("shelf: account %q: %w", q.Username, fetcher.ErrProtected)
	}
	var shown []fetcher.Tweet
	for _, tw := range slices.Backward(s.posts) {
		if tw.Username == q.Username {
			shown = append(shown, tw)
		}
	}
	if q.Cursor != "" {
		shown = shown[len(shown)-min(len(shown), max(0, atoi(q.Cursor))):]
	}
	size := s.size
	if q.Limit > 0 {
		size = min(size, q.Limit)
	}
	p := fetcher.Page{UserID: "id of " + q.Username}
	wanted := len(shown)
	for wanted > 0 && shown[wanted-1].PublishedAt.Before(q.Since) {
		wanted--
	}
	if wanted > size {
		p.Next = fmt.Sprint(len(shown) - size)
		wanted = size
	}
	shown = shown[:wanted]
	h := fnv.New64a()
	fmt.Fprint(h, q.Username)
	var reach fetcher.Reach
	for _, tw := range shown {
		fmt.Fprint(h, " ", tw.ID)
		reach.Add(tw.PublishedAt)
		if q.Seen != nil && q.Seen(tw.ID) {
			p.Skipped++
			continue
		}
		p.Tweets = append(p.Tweets, tw)
	}
	if p.OldestAt = reach.Time(); p.Next == "" && !q.Since.IsZero() {
		p.OldestAt = q.Since
	}
	if q.Cursor != "" {
		return p, nil
	}
	p.Version = h.Sum64()
	if q.Known == p.Version && q.Seen != nil {
		p.Tweets, p.Skipped, p.Unchanged = nil, len(shown), true
	}
	return p, nil
}

func (s *shelf) Timelines(ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
	pages := make([]fetcher.Page, len(qs))
	for i, q := range qs {
		pages[i], pages[i].Err = s.Timeline(ctx, q)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return pages, nil
}

// Search answers "from:" and an account.
func (s *shelf) Search(ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	if q.Seen == nil {
		q.Seen = nothing
	}
	return s.Timeline(ctx, fetcher.TimelineQuery{
		Username: strings.TrimPrefix(q.Query, "from:"), Cursor: q.Cursor, Limit: q.Limit, Since: q.Since, Seen: q.Seen, Known: q.Known,
	})
}

func (s *shelf) BatchLimit() int { return 10 }

func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// shelfKit has everything; wrap may make the Fetcher a wrong one.
func shelfKit(wrap func(fetcher.Fetcher) fetcher.Fetcher) Kit {
	kit := Kit{PageSize: 8, Open: func(testing.TB) Upstream {
		s := &shelf{size: 8, accounts: []string{"ann", "bob", "cyd"}, closed: map[string]bool{}}
		return Upstream{
			New: func(testing.TB) fetcher.Fetcher {
				process.Add(1)
				if wrap == nil {
					return s
				}
				return wrap(s)
			},
			Accounts: s.accounts,
			Post:     s.post,
			Delete: func(account, text string) {
				s.posts = slices.DeleteFunc(s.posts, func(tw fetcher.Tweet) bool { return tw.Username == account && tw.Text == text })
			},
			Query:        func(account string) string { return "from:" + account },
			Missing:      "nobody",
			Protect:      func(account string) { s.closed[account] = true },
			Unauthorized: func() { s.fail(fetcher.ErrUnauthorized) },
			Limit:        func(wait time.Duration) { s.fail(&fetcher.RateLimitError{RetryAfter: wait}) },
			Garble:       func() { s.fail(fetcher.ErrMalformed) },
			Stall: func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.stalled = true
			},
		}
	}}
	if err := kit.validate(); err != nil {
		panic(err)
	}
	return kit
}

// process numbers the Fetchers that were made.
var process atomic.Int64

func processes() int64 { return process.Load() }

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// nextByTime reads on from posts that are older than the page's oldest.
func nextByTime(f fetcher.Fetcher, ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	cursor := q.Cursor
	q.Cursor = ""
	p, err := f.Timeline(ctx, fetcher.TimelineQuery{Username: q.Username})
	all := p.Tweets
	for err == nil && p.Next != "" {
		p, err = f.Timeline(ctx, fetcher.TimelineQuery{Username: q.Username, Cursor: p.Next})
		all = append(all, p.Tweets...)
	}
	if err != nil {
		return p, err
	}
	if cursor != "" {
		all = slices.DeleteFunc(all, func(tw fetcher.Tweet) bool {
			return cmp.Compare(tw.PublishedAt.UnixMilli(), int64(atoi(cursor))) >= 0
		})
	}
	p = fetcher.Page{Tweets: all}
	if len(all) > 8 {
		p.Tweets = all[:8]
		p.Next = fmt.Sprint(all[7].PublishedAt.UnixMilli())
	}
	return p, nil
}

// nextBy is a Fetcher with cursors of its own: next makes that of a page that ends before post i.
func nextBy(next func(all []fetcher.Tweet, i int) string) func(fetcher.Fetcher) fetcher.Fetcher {
	return calls(func(f fetcher.Fetcher, ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
		const size = 8
		var all []fetcher.Tweet
		for p := (fetcher.Page{}); ; {
			var err error
			if p, err = f.Timeline(ctx, fetcher.TimelineQuery{Username: q.Username, Cursor: p.Next}); err != nil {
				return p, err
			}
			if all = append(all, p.Tweets...); p.Next == "" {
				break
			}
		}
		from := 0
		if q.Cursor != "" {
			from = len(all) // unless the cursor's place is there
			for i := 1; i < len(all) && from == len(all); i++ {
				if next(all, i) == q.Cursor {
					from = i
				}
			}
		}
		p := fetcher.Page{Tweets: all[from:min(len(all), from+size)]}
		if from+size < len(all) {
			p.Next = next(all, from+size)
		}
		return p, nil
	})
}

// versions is a Fetcher that names a first page by what state says of it.
func versions(state func(*fetcher.Page) string) func(fetcher.Fetcher) fetcher.Fetcher {
	return versionsFor(func(q fetcher.TimelineQuery) bool { return q.Seen != nil }, state)
}

// versionsFor answers Unchanged to the queries that may have it.
func versionsFor(may func(fetcher.TimelineQuery) bool, state func(*fetcher.Page) string) func(fetcher.Fetcher) fetcher.Fetcher {
	return calls(func(f fetcher.Fetcher, ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
		whole, err := f.Timeline(ctx, fetcher.TimelineQuery{Username: q.Username, Cursor: q.Cursor})
		if err != nil || q.Cursor != "" {
			return whole, err
		}
		h := fnv.New64a()
		fmt.Fprint(h, q.Username, " ", state(&whole))
		if version := h.Sum64(); q.Known == version && may(q) {
			return fetcher.Page{Unchanged: true, Version: version, Skipped: len(whole.Tweets), OldestAt: whole.OldestAt, Next: whole.Next, UserID: whole.UserID}, nil
		}
		q.Known = 0
		p, err := f.Timeline(ctx, q)
		p.Version = h.Sum64()
		return p, err
	})
}

// allOf is the state of a page by all of its posts.
func allOf(p *fetcher.Page) string {
	s := ""
	for i := range p.Tweets {
		s += " " + p.Tweets[i].ID
	}
	return s
}

// failing is a Fetcher whose errors are all one.
func failing(with error) func(fetcher.Fetcher) fetcher.Fetcher {
	return calls(func(f fetcher.Fetcher, ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
		p, err := f.Timeline(ctx, q)
		if err != nil {
			err = with
		}
		return p, err
	})
}
