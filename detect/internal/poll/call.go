package poll

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// call asks the upstream for the next page of a poll. If the Fetcher panics, call returns an error.
func (e *Env) call(ctx context.Context, p *Poll, pg *fetcher.Page) (err error) {
	p.Out.called = e.Clock()
	limit := withDeadline(ctx, e.Epoch.Add(time.Duration(p.Out.called)+e.FetchTimeout)) // cheaper than time.Now().Add
	defer limit.End()
	defer func() {
		if v := recover(); v != nil {
			p.Out.panicked = true
			err = e.panicked(v, p)
		}
	}()
	e.Count.Calls.Add(1)
	*pg, err = p.Machine.traits.Call(limit, e, p)
	e.Budget.Spend.Add(pg.Billed)
	if err == nil {
		err = pg.Err
	}
	err = heard(err)
	if err == nil && limit.Err() != nil {
		err = fmt.Errorf("detect: answer came after the deadline: %w", limit.Err())
	}
	return err
}

func (e *Env) panicked(v any, p *Poll) error {
	e.Logger.Error("fetcher panicked", p.Machine.traits.Key, p.Name, "panic", v, "stack", string(debug.Stack()))
	return heard(fmt.Errorf("detect: fetcher panicked: %v", v))
}

// ReadTogether makes the polls of several accounts with one upstream call. A poll that needs no
// more pages ends without waiting for the others.
func (e *Env) ReadTogether(ctx context.Context, group []*Poll, landed func(*Poll)) {
	asked := e.Now()
	for _, p := range group {
		p.begin(asked)
	}
	pages, err := e.callTogether(ctx, group)
	var more []int
	for i, p := range group {
		perr := err
		if err == nil {
			perr = pages[i].Err
		}
		var rl *fetcher.RateLimitError
		p.Out.Together = err != nil && !errors.As(err, &rl)
		if perr == nil && !e.take(p, &pages[i], asked) {
			more = append(more, i)
			continue
		}
		if perr != nil {
			p.Out.Err = perr
		}
		landed(p)
	}
	for _, i := range more { // one after the other, because the call has one slot
		p := group[i]
		e.readOn(ctx, p, &pages[i])
		landed(p)
	}
}

// callTogether asks the Fetcher for the first pages of several accounts.
func (e *Env) callTogether(ctx context.Context, group []*Poll) (pages []fetcher.Page, err error) {
	limit := withDeadline(ctx, time.Now().Add(e.FetchTimeout))
	defer limit.End()
	defer func() {
		if v := recover(); v != nil {
			group[0].Out.panicked = true
			err = e.panicked(v, group[0])
		}
	}()
	queries := make([]fetcher.TimelineQuery, len(group))
	for i, p := range group {
		queries[i], p.Out.called = p.Plan.Timeline, e.Clock()
	}
	e.Count.Calls.Add(1)
	pages, err = e.Roles.Batch.Timelines(limit, queries)
	err = heard(err)
	pages = slices.Clone(pages) // the Fetcher may keep its answer
	for i := range pages {
		e.Budget.Spend.Add(pages[i].Billed)
		pages[i].Err = heard(pages[i].Err)
	}
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

// lasting reports whether an error is about the account itself and will occur again.
func lasting(err error) bool {
	return errors.Is(err, fetcher.ErrNotFound) || errors.Is(err, fetcher.ErrProtected) || errors.Is(err, fetcher.ErrUnauthorized)
}
