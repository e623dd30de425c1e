package main

import (
	"context"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// printNewest shows each account's newest post, so that there is something to
// see at once, and says which accounts cannot be read.
func printNewest(ctx context.Context, all *accounts, lines *ticker) {
	for _, name := range all.names {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		page, err := all.Timeline(ctx, fetcher.TimelineQuery{Username: name, Limit: 5})
		cancel()
		all.billed = all.billed.Plus(page.Billed)
		if errors.Is(err, fetcher.ErrNotFound) || errors.Is(err, fetcher.ErrProtected) || errors.Is(err, fetcher.ErrUnauthorized) {
			continue // the first poll tells
		}
		if err != nil {
			lines.print("newest  %-24s  cannot be read: %v\n", shownAs(name), err)
			continue
		}
		if len(page.Tweets) == 0 {
			lines.print("newest  %-24s  has no posts\n", shownAs(name))
			continue
		}
		t := &page.Tweets[0]
		for i := range page.Tweets {
			if other := &page.Tweets[i]; other.PublishedAt.After(t.PublishedAt) {
				t = other
			}
		}
		lines.newest(name, t)
	}
}

// post names one of a platform's.
type post struct{ author, id string }

// newest prints the newest post of an account.
func (t *ticker) newest(name string, tw *fetcher.Tweet) {
	t.print("newest  %-24s  %s  %s  %s\n", shownAs(name), oneLine(tw.Text, 60), published(tw.PublishedAt), tw.Permalink)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shown == nil {
		t.shown = map[post]bool{}
	}
	t.shown[post{tw.Username, tw.ID}] = true
}
