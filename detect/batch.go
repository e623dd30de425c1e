package detect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// flyTogether makes several polls with one upstream call. Those that need no
// more pages do not wait for the others. It takes those that have landed out of
// the group.
func (sh *shard) flyTogether(ctx context.Context, group []*flight) {
	asked := sh.d.cfg.Now()
	for _, f := range group {
		f.begin(asked)
	}
	pages, err := sh.d.callTogether(ctx, group)
	var more []int
	for i, f := range group {
		var pg fetcher.Page
		ferr := err
		if err == nil {
			pg, ferr = pages[i], pages[i].Err
		}
		var rl *fetcher.RateLimitError
		f.out.together = err != nil && !errors.As(err, &rl)
		if ferr == nil && !sh.d.takePage(f, &pg, asked) {
			more = append(more, i)
			continue
		}
		if ferr != nil {
			f.out.err = ferr
		}
		group[i] = nil
		sh.mail.put(message{landed: f})
	}
	for _, i := range more { // one after the other: the call has one slot
		f := group[i]
		sh.d.readOn(ctx, f, f.out.next)
		group[i] = nil
		sh.mail.put(message{landed: f})
	}
}

// callTogether asks the Fetcher for the first pages of several accounts.
func (d *Detector) callTogether(ctx context.Context, group []*flight) (pages []fetcher.Page, err error) {
	limit := &deadline{parent: ctx, at: time.Now().Add(d.cfg.FetchTimeout)}
	defer limit.end()
	defer func() {
		if v := recover(); v != nil {
			group[0].out.panicked = true
			err = d.panicked(v, group[0].plan.query.Username)
		}
	}()
	queries := make([]fetcher.TimelineQuery, len(group))
	for i, f := range group {
		queries[i] = f.plan.query
	}
	d.count.calls.Add(1)
	pages, err = d.cfg.Fetcher.(fetcher.BatchFetcher).Timelines(limit, queries)
	switch {
	case err != nil:
		return nil, err
	case limit.Err() != nil:
		return nil, fmt.Errorf("detect: answer came after the deadline: %w", limit.Err())
	case len(pages) != len(queries):
		return nil, fmt.Errorf("detect: fetcher answered %d timelines with %d pages: want one for each", len(queries), len(pages))
	}
	return pages, nil
}

// defaultBatch is how many accounts go in one call when a BatchFetcher does
// not tell its limit.
const defaultBatch = 20

// batching says how many accounts a Fetcher reads in one call by default, and
// at most.
func batching(f fetcher.Fetcher) (size, limit int) {
	b, ok := f.(fetcher.BatchFetcher)
	if !ok {
		return 1, 1
	}
	if l, ok := b.(interface{ BatchLimit() int }); ok {
		size = max(1, min(l.BatchLimit(), maxBatch))
		return size, size
	}
	return defaultBatch, maxBatch
}
