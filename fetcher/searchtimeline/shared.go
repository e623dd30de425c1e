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
// empty page whose Next reads them alone. An error of the search is the call's. What the
// platform charges for the search is on the page of one account.
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
	switch {
	case err == nil:
		split(&answer, qs, sharing, pages)
	case answer.Billed == (fetcher.Billed{}):
		return nil, err
	}
	pages[sharing[0]].Billed = answer.Billed // once for all
	return pages, err
}

// pack chooses the queries that share a search, by index, and returns the text of the
// search, which is the same for the same accounts. It sets the pages of the others.
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

// anySeen returns a Seen that reports what that of any account reports, nil if none has
// one. A post is of one account, so an account without Seen, which wants all of its
// posts, gets them: the others do not report them.
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

// split sets the page of each account from the answer. A post without an author could be
// of any of them: then all are read alone, where the query says whose it is.
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

// by reports whether a post is of the account that a query asks for, by its handle or its
// id. The caller judges a post that has the handle and another id: see Page.UserID.
func by(tw *fetcher.Tweet, q *fetcher.TimelineQuery) bool {
	return tw.Username != "" && strings.EqualFold(handle(tw.Username), handle(q.Username)) ||
		q.UserID != "" && tw.UserID == q.UserID
}

// idOf returns the id of the account with a handle, "" when no post has it.
func idOf(tweets []fetcher.Tweet, name string) string {
	for i := range tweets {
		if tweets[i].UserID != "" && strings.EqualFold(handle(tweets[i].Username), name) {
			return tweets[i].UserID
		}
	}
	return ""
}

// orderSlack is how much later than the post before it a post may be and still count as
// in order: some platforms have times in whole seconds.
const orderSlack = time.Second

// reach returns how far back an answer certainly goes, as fetcher.Reach has it. If the
// posts are not newest first, that is no further than the newest one.
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
