package fetchertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/planted"
)

// plantedFault is a wrong Fetcher and the case that has to find it.
type plantedFault struct {
	name  string
	plant func(fetcher.Fetcher) fetcher.Fetcher
	find  string // the case
	says  string // part of what it reports
}

// after is a Fetcher whose pages are changed on their way out.
func after(change func(q fetcher.TimelineQuery, p *fetcher.Page)) func(fetcher.Fetcher) fetcher.Fetcher {
	return func(f fetcher.Fetcher) fetcher.Fetcher {
		return wrong{f, func(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
			p, err := f.Timeline(ctx, q)
			if err == nil {
				change(q, &p)
			}
			return p, err
		}}
	}
}

// posts is a Fetcher whose posts are changed on their way out, known ones
// included.
func posts(change func(*fetcher.Tweet)) func(fetcher.Fetcher) fetcher.Fetcher {
	return after(func(_ fetcher.TimelineQuery, p *fetcher.Page) {
		for i := range p.Tweets {
			change(&p.Tweets[i])
		}
	})
}

type wrong struct {
	fetcher.Fetcher
	timeline func(context.Context, fetcher.TimelineQuery) (fetcher.Page, error)
}

func (w wrong) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	return w.timeline(ctx, q)
}

// calls is a Fetcher that answers a call itself.
func calls(timeline func(f fetcher.Fetcher, ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error)) func(fetcher.Fetcher) fetcher.Fetcher {
	return func(f fetcher.Fetcher) fetcher.Fetcher {
		return wrong{f, func(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) { return timeline(f, ctx, q) }}
	}
}

// batches is a Fetcher whose Timelines are changed on their way out.
func batches(timelines func(f fetcher.BatchFetcher, ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error)) func(fetcher.Fetcher) fetcher.Fetcher {
	return func(f fetcher.Fetcher) fetcher.Fetcher { return wrongBatch{f, timelines} }
}

type wrongBatch struct {
	fetcher.Fetcher
	timelines func(fetcher.BatchFetcher, context.Context, []fetcher.TimelineQuery) ([]fetcher.Page, error)
}

func (w wrongBatch) Timelines(ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
	return w.timelines(w.Fetcher.(fetcher.BatchFetcher), ctx, qs)
}

// searches is a Fetcher that answers searches wrongly.
func searches(search func(f fetcher.Searcher, ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error)) func(fetcher.Fetcher) fetcher.Fetcher {
	return func(f fetcher.Fetcher) fetcher.Fetcher { return wrongSearch{f, search} }
}

type wrongSearch struct {
	fetcher.Fetcher
	search func(fetcher.Searcher, context.Context, fetcher.SearchQuery) (fetcher.Page, error)
}

func (w wrongSearch) Search(ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	return w.search(w.Fetcher.(fetcher.Searcher), ctx, q)
}

var plantedFaults = []plantedFault{
	{"gives a full page without Next", after(func(_ fetcher.TimelineQuery, p *fetcher.Page) { p.Next = "" }),
		"paging/a full page with older posts has Next", "the older ones cannot be read"},
	{"gives a Next that leads back", after(func(_ fetcher.TimelineQuery, p *fetcher.Page) { p.Next = "0" }),
		"paging/Next leads to the end without overlap or hole", "want it to end"},
	{"shows the last post again on the next page", after(func(_ fetcher.TimelineQuery, p *fetcher.Page) {
		if p.Next != "" {
			p.Next = fmt.Sprint(atoi(p.Next) + 1)
		}
	}), "paging/Next leads to the end without overlap or hole", "each once"},
	{"leaves out a post between pages", after(func(_ fetcher.TimelineQuery, p *fetcher.Page) {
		if p.Next != "" {
			p.Next = fmt.Sprint(atoi(p.Next) - 1)
		}
	}), "paging/Next leads to the end without overlap or hole", "each once"},
	{"gives oldest first", after(func(_ fetcher.TimelineQuery, p *fetcher.Page) { slices.Reverse(p.Tweets) }),
		"paging/Next leads to the end without overlap or hole", "each once"},
	{"goes on by time", calls(nextByTime), "paging/posts of the same moment are not lost between pages", "is on no page"},
	{"keeps cursors in memory", func(f fetcher.Fetcher) fetcher.Fetcher {
		good := map[string]bool{"": true}
		return wrong{f, func(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
			if !good[q.Cursor] {
				return fetcher.Page{}, errors.New("unknown cursor")
			}
			p, err := f.Timeline(ctx, q)
			good[p.Next] = true
			return p, err
		}}
	}, "paging/a cursor is good in the next process", "unknown cursor"},
	{"goes on behind a post that has to be there", nextBy(func(all []fetcher.Tweet, i int) string { return all[i-1].ID }),
		"paging/a deleted post under a cursor takes no other with it", "after posts 8 to 8 of the newest were deleted"},
	{"goes on at a post that has to be there", nextBy(func(all []fetcher.Tweet, i int) string { return fmt.Sprint("at ", all[i].ID) }),
		"paging/a deleted post under a cursor takes no other with it", "after posts 9 to 9 of the newest were deleted"},
	{"counts from the newest post", nextBy(func(_ []fetcher.Tweet, i int) string { return fmt.Sprint(i) }),
		"paging/a deleted post under a cursor takes no other with it", "were deleted while the pages were read"},
	{"gives another's posts on later pages", after(func(q fetcher.TimelineQuery, p *fetcher.Page) {
		for i := range p.Tweets {
			if q.Cursor != "" {
				p.Tweets[i].UserID = "7"
			}
		}
	}), "paging/Next leads to the end without overlap or hole", "dropped as another account's"},
	{"gives another's posts of those since a time", after(func(q fetcher.TimelineQuery, p *fetcher.Page) {
		for i := range p.Tweets {
			if !q.Since.IsZero() {
				p.Tweets[i].UserID = "7"
			}
		}
	}), "since/a Since leaves out no post that is not older", "dropped as another account's"},
	{"gives another's posts in a batch", batches(func(f fetcher.BatchFetcher, ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
		pages, err := f.Timelines(ctx, qs)
		for i := range pages {
			for k := range pages[i].Tweets {
				pages[i].Tweets[k].UserID = "7"
			}
		}
		return pages, err
	}), "batch/pages come in the order of the queries", "dropped as another account's"},
	{"makes ids of seconds", posts(func(tw *fetcher.Tweet) { tw.ID = fmt.Sprint(tw.PublishedAt.Unix()) }),
		"posts/every post has an id of its own", "the second is taken for known and lost"},
	{"makes ids of milliseconds", posts(func(tw *fetcher.Tweet) { tw.ID = fmt.Sprint(tw.PublishedAt.UnixMilli()) }),
		"posts/every post has an id of its own", "the second is taken for known and lost"},
	{"numbers an account's posts", after(func(_ fetcher.TimelineQuery, p *fetcher.Page) {
		for i := range p.Tweets {
			p.Tweets[i].ID = fmt.Sprint(i)
		}
	}), "posts/every post has an id of its own", "the second is taken for known and lost"},
	{"numbers the posts that it sees", func(f fetcher.Fetcher) fetcher.Fetcher {
		ids := map[string]string{}
		return after(func(_ fetcher.TimelineQuery, p *fetcher.Page) {
			for i := range p.Tweets {
				tw := &p.Tweets[i]
				if ids[tw.ID] == "" {
					ids[tw.ID] = fmt.Sprint(processes(), len(ids))
				}
				tw.ID = ids[tw.ID]
			}
		})(f)
	}, "posts/an id stays", "delivered twice"},
	{"cuts times to the second", posts(func(tw *fetcher.Tweet) { tw.PublishedAt = tw.PublishedAt.Truncate(time.Second) }),
		"posts/publication times are as exact as the platform's", "want"},
	{"tells no time", posts(func(tw *fetcher.Tweet) { tw.PublishedAt = time.Time{} }),
		"posts/a post has the fields that detection needs", "the post is dropped"},
	{"gives another's posts", posts(func(tw *fetcher.Tweet) { tw.UserID = "7" }),
		"posts/a timeline has the account's own posts alone", "dropped as another account's"},
	{"does not count known posts", after(func(_ fetcher.TimelineQuery, p *fetcher.Page) { p.Skipped = 0 }),
		"seen/posts that Seen knows are counted", "0 Skipped"},
	{"stops at a known post", after(func(q fetcher.TimelineQuery, p *fetcher.Page) {
		if q.Seen != nil && p.Skipped > 0 {
			p.Tweets = p.Tweets[:1]
		}
	}), "seen/posts that Seen does not know are on the page", "have to be on the page"},
	{"has no Next when all posts are known", after(func(_ fetcher.TimelineQuery, p *fetcher.Page) {
		if len(p.Tweets) == 0 {
			p.Next = ""
		}
	}), "seen/a page of known posts has the same Next", "when all are known"},
	{"reaches back by decoded posts alone", after(func(_ fetcher.TimelineQuery, p *fetcher.Page) { p.OldestAt = reachOf(p) }),
		"seen/OldestAt counts the posts that were left out", "as far as the page reaches"},
	{"claims to reach back for ever", after(func(_ fetcher.TimelineQuery, p *fetcher.Page) { p.OldestAt = p.OldestAt.Add(-time.Hour) }),
		"seen/OldestAt does not reach further than the posts", "counts as read and is lost"},
	{"makes versions of the newest id", versions(func(p *fetcher.Page) string { return p.Tweets[0].ID }),
		"version/a new post changes the Version", "the post is lost"},
	{"names versions wrongly, and gives the posts", after(func(q fetcher.TimelineQuery, p *fetcher.Page) {
		if q.Cursor == "" {
			p.Version = 5
		}
	}), "version/a new post changes the Version", "equal versions mean equal posts"},
	{"says unchanged of all accounts", after(func(q fetcher.TimelineQuery, p *fetcher.Page) {
		if p.Version = 5; q.Known == 5 {
			*p = fetcher.Page{Version: 5, Unchanged: true}
		}
	}), "version/a Known of another page is ignored", "a query of another account"},
	{"says unchanged to who wants all", versionsFor(func(q fetcher.TimelineQuery) bool { return true }, allOf),
		"version/Known without Seen is ignored", "all posts are wanted"},
	{"forgets what an unchanged page said", after(func(q fetcher.TimelineQuery, p *fetcher.Page) {
		if p.Version = 5; q.Known == 5 {
			*p = fetcher.Page{Version: 5, Unchanged: true}
		}
	}), "version/an unchanged page says what it said", "want none, and its"},
	{"finds nothing", searches(func(fetcher.Searcher, context.Context, fetcher.SearchQuery) (fetcher.Page, error) {
		return fetcher.Page{}, nil
	}), "search/Next leads to the end without overlap or hole", "each once"},
	{"finds posts of others", searches(func(f fetcher.Searcher, ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
		p, err := f.Search(ctx, q)
		for i := range p.Tweets {
			p.Tweets[i].Username, p.Tweets[i].UserID = "somebody", ""
		}
		return p, err
	}), "search/a timeline has the account's own posts alone", "dropped as another account's"},
	{"says unchanged of a search's later page", searches(func(f fetcher.Searcher, ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
		if q.Known != 0 {
			return fetcher.Page{Version: q.Known, Unchanged: true}, nil
		}
		return f.Search(ctx, q)
	}), "search/a Known of another page is ignored", "a query of older posts"},
	{"forgets how far an unchanged search reached", searches(func(f fetcher.Searcher, ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
		p, err := f.Search(ctx, q)
		if p.Unchanged {
			p.OldestAt = time.Time{}
		}
		return p, err
	}), "search/an unchanged page says what it said", "OldestAt"},
	{"has an empty page of an unknown account", calls(func(f fetcher.Fetcher, ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
		p, err := f.Timeline(ctx, q)
		if errors.Is(err, fetcher.ErrNotFound) {
			return fetcher.Page{}, nil
		}
		return p, err
	}), "errors/an account that does not exist is ErrNotFound", "want fetcher: not found"},
	{"does not wrap its errors", calls(func(f fetcher.Fetcher, ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
		p, err := f.Timeline(ctx, q)
		if err != nil {
			err = fmt.Errorf("wrong: %v", err)
		}
		return p, err
	}), "errors/an account with private posts is ErrProtected", "want fetcher: protected"},
	{"calls every refusal a status", failing(&fetcher.StatusError{Code: 401}), "errors/refused credentials are ErrUnauthorized", "want fetcher: unauthorized"},
	{"does not tell how long to wait", failing(&fetcher.RateLimitError{}), "errors/a rate limit is a RateLimitError with the wait", "RetryAfter is 0s"},
	{"takes a rate limit for a private account", failing(fmt.Errorf("%w: %w", &fetcher.RateLimitError{}, fetcher.ErrProtected)),
		"errors/a rate limit is a RateLimitError with the wait", "alone"},
	{"takes a web page for an empty timeline", calls(func(f fetcher.Fetcher, ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
		p, err := f.Timeline(ctx, q)
		if errors.Is(err, fetcher.ErrMalformed) {
			return fetcher.Page{}, nil
		}
		return p, err
	}), "errors/an answer that is a web page is ErrMalformed", "want fetcher: malformed answer"},
	{"does not look at the context", calls(func(f fetcher.Fetcher, ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
		return f.Timeline(context.WithoutCancel(ctx), q)
	}), "errors/a context that has ended is an error", "want context canceled"},
	{"mixes pages up", batches(func(f fetcher.BatchFetcher, ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
		pages, err := f.Timelines(ctx, qs)
		if len(pages) == 3 {
			pages[0], pages[2] = pages[2], pages[0]
		}
		return pages, err
	}), "batch/pages come in the order of the queries", "has to lead through its timeline"},
	{"has nothing for several with Since", batches(func(f fetcher.BatchFetcher, ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
		pages, err := f.Timelines(ctx, qs)
		for i, q := range qs {
			if !q.Since.IsZero() && pages[i].Err == nil {
				pages[i] = fetcher.Page{OldestAt: q.Since}
			}
		}
		return pages, err
	}), "batch/a Since leaves none of the newer posts out", "is on no page"},
	{"leaves out a page", batches(func(f fetcher.BatchFetcher, ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
		pages, err := f.Timelines(ctx, qs)
		return pages[1:], err
	}), "batch/pages come in the order of the queries", "want one for each"},
	{"fails all for one account", batches(func(f fetcher.BatchFetcher, ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
		pages, err := f.Timelines(ctx, qs)
		for _, p := range pages {
			err = errors.Join(err, p.Err)
		}
		return pages, err
	}), "batch/an account that does not exist fails alone", "failed: "},
	{"has no error for one account", batches(func(f fetcher.BatchFetcher, ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
		pages, err := f.Timelines(ctx, qs)
		for i := range pages {
			pages[i].Err = nil
		}
		return pages, err
	}), "batch/an account with private posts fails alone", "want fetcher: protected"},
	{"does not say that a share is cut", batches(func(f fetcher.BatchFetcher, ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
		pages, err := f.Timelines(ctx, qs)
		for i := range pages {
			pages[i].Next = ""
		}
		return pages, err
	}), "batch/pages come in the order of the queries", "has to lead through its timeline"},
}

// Each planted fault is found by its case, which finds nothing without it.
func TestPlantedFaults(t *testing.T) {
	for _, row := range slices.Concat(plantedFaults, plantedSince) {
		t.Run(row.name, func(t *testing.T) {
			planted.Find(t, row.find, row.says, record(t, shelfKit(nil), row.find), record(t, shelfKit(row.plant), row.find))
		})
	}
}
