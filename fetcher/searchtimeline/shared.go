package searchtimeline

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Timelines reads the first pages of several accounts with one search. An account that
// does not fit into the query gets an empty page; its Next reads the account alone. So
// does an account with a Cursor in its query. If the search fails, Timelines returns its
// error. Billed, the platform's charge for the search, is set on one of the pages only.
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

// pack chooses the queries that share a search. It returns their indices and the
// search's text, which does not depend on their order. It fills in the pages of the
// other queries.
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

// anySeen returns a Seen that reports true if the Seen of any of the queries does. It
// returns nil if no query has one. A query without a Seen still gets all posts of its
// account, since each Seen reports only posts of its own account.
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

// split fills in the page of each account from the answer. A post without an author
// could belong to any of the accounts. If there is one, split returns empty pages, and
// their Next reads each account alone.
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

// by reports whether a post has the handle or the id of the account that a query asks
// for. A post with the handle but another id counts too: the engine decides about such
// posts by Page.UserID.
func by(tw *fetcher.Tweet, q *fetcher.TimelineQuery) bool {
	return tw.Username != "" && strings.EqualFold(handle(tw.Username), handle(q.Username)) ||
		q.UserID != "" && tw.UserID == q.UserID
}

// idOf returns the id of the account with that handle, taken from its posts, or "" if
// no post has it.
func idOf(tweets []fetcher.Tweet, name string) string {
	for i := range tweets {
		if tweets[i].UserID != "" && strings.EqualFold(handle(tweets[i].Username), name) {
			return tweets[i].UserID
		}
	}
	return ""
}

// orderSlack is how much later than the previous post a post may be and still count as
// in order. Some platforms give times in whole seconds.
const orderSlack = time.Second

// reach returns the time back to which an answer is complete: its OldestAt, or else the
// time computed by fetcher.Reach. ordered reports whether the posts are newest first. If
// they are not, reach returns the time of the newest post.
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
