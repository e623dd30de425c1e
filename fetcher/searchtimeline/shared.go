package searchtimeline

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Timelines reads the first pages of several accounts with one search. Those
// that do not fit into the query, and those that ask for a later page, get an
// empty page whose Next reads them alone. An error of the search is the call's.
func (f *Fetcher) Timelines(ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
	pages := make([]fetcher.Page, len(qs))
	sharing, query := f.pack(qs, pages)
	switch len(sharing) {
	case 0:
		return pages, nil
	case 1:
		var err error
		pages[sharing[0]], err = f.Timeline(ctx, qs[sharing[0]])
		return pages, err
	}
	ask := fetcher.SearchQuery{Query: query, Seen: anySeen(qs, sharing)}
	for _, i := range sharing {
		ask.Limit = max(ask.Limit, qs[i].Limit)
	}
	answer, err := f.ask(ctx, ask)
	if err != nil {
		return nil, err
	}
	split(&answer, qs, sharing, pages)
	return pages, nil
}

// pack chooses the queries that share a search, by index, and words it, so that
// the same accounts make the same text. The pages of the others are final.
func (f *Fetcher) pack(qs []fetcher.TimelineQuery, pages []fetcher.Page) (sharing []int, query string) {
	var clauses []string
	length := -len(or)
	for i := range qs {
		clause, err := f.clause(qs[i].Username)
		more := len(or) + utf8.RuneCountInString(clause)
		switch {
		case err != nil:
			pages[i].Err = err
		case qs[i].Cursor != "":
			pages[i].Next = qs[i].Cursor
		case length+more > f.maxLength:
			pages[i].Next = alone
		default:
			length += more
			clauses = append(clauses, clause)
			sharing = append(sharing, i)
		}
	}
	slices.Sort(clauses)
	return sharing, strings.Join(slices.Compact(clauses), or)
}

// anySeen knows what any of the accounts' does: a post is of one account. One
// that wants all of its posts has no Seen, and the others do not know them.
func anySeen(qs []fetcher.TimelineQuery, sharing []int) func(id string) bool {
	var known []func(string) bool
	for _, i := range sharing {
		if qs[i].Seen != nil {
			known = append(known, qs[i].Seen)
		}
	}
	if known == nil {
		return nil
	}
	return func(id string) bool {
		return slices.ContainsFunc(known, func(seen func(string) bool) bool { return seen(id) })
	}
}

// split gives each account its share of the answer. One post whose author can
// not be told could be anybody's: then all are read alone, where the query says
// whose it is.
func split(answer *fetcher.Page, qs []fetcher.TimelineQuery, sharing []int, pages []fetcher.Page) {
	oldest, _ := reach(answer)
	next := ""
	if answer.Next != "" {
		next = alone
	}
	for _, i := range sharing {
		pages[i] = fetcher.Page{OldestAt: oldest, Next: next, RateLimit: answer.RateLimit, ServerTime: answer.ServerTime}
	}
	for t := range answer.Tweets {
		tw := &answer.Tweets[t]
		found := false
		for _, i := range sharing {
			if by(tw, &qs[i]) {
				pages[i].Tweets = append(pages[i].Tweets, *tw)
				found = true
			}
		}
		if !found && tw.Username == "" {
			for _, i := range sharing {
				pages[i] = fetcher.Page{Next: alone, RateLimit: answer.RateLimit, ServerTime: answer.ServerTime}
			}
			return
		}
	}
	for _, i := range sharing {
		pages[i].Others = len(answer.Tweets) + max(0, answer.Skipped) - len(pages[i].Tweets)
		pages[i].UserID = idOf(pages[i].Tweets, handle(qs[i].Username))
	}
}

// by reports whether a post is of the account that a query asks for. What has
// the handle and not the id is the reader's to refuse: see Page.UserID.
func by(tw *fetcher.Tweet, q *fetcher.TimelineQuery) bool {
	return tw.Username != "" && strings.EqualFold(handle(tw.Username), handle(q.Username)) ||
		q.UserID != "" && tw.UserID == q.UserID
}

// idOf is the id of the account with a handle, "" when no post tells.
func idOf(tweets []fetcher.Tweet, name string) string {
	for i := range tweets {
		if tweets[i].UserID != "" && strings.EqualFold(handle(tweets[i].Username), name) {
			return tweets[i].UserID
		}
	}
	return ""
}

// orderSlack is how far two posts may stand in the wrong order where the
// platform tells publication times to the second.
const orderSlack = time.Second

// reach is how far back an answer certainly goes: as fetcher.Reach has it, and
// no further than its newest post where the posts are not newest first.
func reach(page *fetcher.Page) (at time.Time, ordered bool) {
	var r fetcher.Reach
	var newest, last time.Time
	ordered = true
	for i := range page.Tweets {
		at := page.Tweets[i].PublishedAt
		if at.IsZero() || page.Tweets[i].Pinned {
			continue
		}
		ordered = ordered && (last.IsZero() || !at.After(last.Add(orderSlack)))
		if last = at; at.After(newest) {
			newest = at
		}
		r.Add(at)
	}
	switch {
	case !ordered:
		return newest, false
	case !page.OldestAt.IsZero():
		return page.OldestAt, true
	}
	return r.Time(), true
}
