package replay

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/internal/social"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// Timeline reads a page of an account's posts, as fetcher.Fetcher has it. The
// cursor is the id of the oldest post of the page before. An account that is
// not in the recording is fetcher.ErrNotFound.
func (r *Replay) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	pages, err := r.timelines(ctx, []fetcher.TimelineQuery{q})
	if err != nil {
		return fetcher.Page{}, err
	}
	return pages[0], nil
}

// Batch lets one call read any number of accounts: it takes the time of
// one, counts as one against the rate limit, and fails as a whole.
type Batch struct{ *Replay }

var _ fetcher.BatchFetcher = Batch{}

// Timelines reads a page for each query, as fetcher.BatchFetcher has it.
func (r Batch) Timelines(ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
	if len(qs) == 0 {
		return nil, nil
	}
	return r.timelines(ctx, qs)
}

// timelines is one call.
func (r *Replay) timelines(ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
	asked := make([]part, len(qs))
	for n, q := range qs {
		p := part{query: q, account: r.find(q)}
		if p.account < 0 {
			return nil, fmt.Errorf("replay: account %q: %w", q.Username, fetcher.ErrNotFound)
		}
		var ok bool
		if p.below, ok = social.ParseID(q.Cursor); !ok {
			return nil, fmt.Errorf("replay: Cursor %q is not allowed: want Page.Next of the page before", q.Cursor)
		}
		asked[n] = p
	}
	draw := r.begin(asked)
	latency := r.cfg.MinLatency + time.Duration(draw.share(0)*float64(r.cfg.MaxLatency-r.cfg.MinLatency))
	if err := social.Wait(ctx, r.played(latency)); err != nil {
		return nil, fmt.Errorf("replay: account %q: %w", qs[0].Username, err)
	}
	now, limit, err := r.admit(draw)
	if err != nil {
		return nil, fmt.Errorf("replay: account %q: %w", qs[0].Username, err)
	}
	pages := make([]fetcher.Page, len(asked))
	for n := range asked {
		pages[n] = r.page(&asked[n], now)
		pages[n].RateLimit = limit
	}
	r.note(asked, now)
	return pages, nil
}

// part is what a call wants of one account.
type part struct {
	query   fetcher.TimelineQuery
	account int
	below   uint64        // ids; 0 is no bound: the first page of a poll
	begun   time.Duration // of a later page: when the first was answered
	posts   []int         // on the page, newest first
}

// admit decides, when a call is answered, whether it gets its pages.
func (r *Replay) admit(draw chanceOf) (now time.Duration, limit fetcher.RateLimit, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now = r.now()
	limit, over := r.window.Take(r.cfg.Start.Add(now))
	switch {
	case over:
		err = &fetcher.RateLimitError{RetryAfter: limit.Reset.Sub(r.cfg.Start.Add(now))}
	case draw.share(1) < r.cfg.ErrorShare:
		err = &fetcher.StatusError{Code: 503, Detail: social.ServerErrorText}
	}
	return now, limit, err
}

// firstAccountID is the platform's id of account0001.
const firstAccountID = 100_001

// find gives the account that a query asks for, or -1.
func (r *Replay) find(q fetcher.TimelineQuery) int {
	i := accountIndex(q.Username)
	if q.UserID != "" {
		id, err := strconv.Atoi(q.UserID)
		if err != nil {
			return -1
		}
		i = id - firstAccountID
	}
	if i < 0 || i >= len(r.accounts) {
		return -1
	}
	return i
}

// accountIndex is the inverse of accountName, or -1.
func accountIndex(handle string) int {
	digits, ok := strings.CutPrefix(monitor.Key(handle), "account")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || social.AccountName(n-1) != "account"+digits {
		return -1
	}
	return n - 1
}

// visible reports whether readers see a post.
func (r *Replay) visible(account, post int, now time.Duration) bool {
	at := r.played(r.cfg.Arrivals.Posts[account][post])
	if r.cfg.LateShare > 0 {
		draw := chanceOf{r.cfg.Seed, 1<<32 + uint64(account), uint64(post)}
		if draw.share(0) < r.cfg.LateShare {
			at += r.played(time.Duration(draw.share(1) * float64(r.cfg.LateUpTo)))
		}
	}
	return at <= now
}

// page reads what a part wants, newest first.
func (r *Replay) page(p *part, now time.Duration) fetcher.Page {
	posts, ids := r.cfg.Arrivals.Posts[p.account], r.ids[p.account]
	// Those above are not out yet, or were on the pages before.
	high := sort.Search(len(posts), func(k int) bool {
		return r.played(posts[k]) > now || p.below > 0 && ids[k] >= p.below
	})
	size := r.cfg.PageSize
	if p.query.Limit > 0 {
		size = min(size, p.query.Limit)
	}
	au := social.Author{ID: strconv.Itoa(firstAccountID + p.account), Name: social.AccountName(p.account)}
	page := fetcher.Page{UserID: au.ID, ServerTime: r.cfg.Start.Add(now)}
	var reach fetcher.Reach
	for k := high - 1; k >= 0; k-- {
		if !r.visible(p.account, k, now) {
			continue
		}
		if len(p.posts) == size {
			page.Next = social.FormatID(ids[p.posts[size-1]])
			break
		}
		p.posts = append(p.posts, k)
		published := r.cfg.Start.Add(r.played(posts[k])).UTC()
		reach.Add(published)
		if p.query.Seen != nil && p.query.Seen(social.FormatID(ids[k])) {
			page.Skipped++
			continue
		}
		page.Tweets = append(page.Tweets, au.Post(ids[k], "Post "+strconv.Itoa(k+1), published))
	}
	page.OldestAt = reach.Time()
	return page
}
