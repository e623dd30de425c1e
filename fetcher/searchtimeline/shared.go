package searchtimeline

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Timelines reads the first pages of several accounts with one search. An account that does not
// fit into the query gets an empty page, and so does a query with a Cursor. The Next of such a
// page reads the account alone. If the search fails, Timelines returns its error. Billed is set
// only in one page, for the whole search.
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

// pack chooses the queries that share a search. It returns their indices and the text of the
// search. The text does not depend on the order of qs. pack fills in the pages of the other
// queries.
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

// anySeen returns a function that reports whether the Seen of any of the queries reports a
// post. It returns nil if no query has a Seen. A query without a Seen still gets all posts of
// its account, because each Seen reports only posts of its own account.
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

// split fills in the page of each account from the answer. A post without an author could be of
// any of the accounts. If there is such a post, all pages are empty, and their Next reads each
// account alone.
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

// by reports whether a post has the handle or the id of the query's account. For a post with the
// handle but another id it returns true; the engine drops such a post if Page.UserID differs.
func by(tw *fetcher.Tweet, q *fetcher.TimelineQuery) bool {
	return tw.Username != "" && strings.EqualFold(handle(tw.Username), handle(q.Username)) ||
		q.UserID != "" && tw.UserID == q.UserID
}

// idOf returns the id of the account with that handle from its posts, or "" if no post has the
// id.
func idOf(tweets []fetcher.Tweet, name string) string {
	for i := range tweets {
		if tweets[i].UserID != "" && strings.EqualFold(handle(tweets[i].Username), name) {
			return tweets[i].UserID
		}
	}
	return ""
}

// orderSlack is the time by which a post may be later than the post above it without being out
// of order. It is needed because some platforms give times in whole seconds.
const orderSlack = time.Second

// reach returns the time since which an answer is complete. It is the answer's OldestAt or, if
// that is zero, the result of a fetcher.Reach. ordered reports whether the posts are newest
// first. If they are not, the time is that of the newest post.
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
