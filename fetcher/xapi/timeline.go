package xapi

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Timeline reads one page of an account's posts, including replies and reposts, in one request.
// If the account's id is neither in the query nor remembered, Timeline first looks it up with a
// second request.
//
// If TimelineQuery.Since is set, the page has only newer posts: see "Reads with a lower bound"
// in the package documentation. Otherwise it has the newest posts.
//
// Errors are those of package fetcher. An unknown handle is ErrNotFound, private posts and
// suspended accounts are ErrProtected, and a token that X refuses is ErrUnauthorized. If
// credits or a cap are used up, the error is a *RateLimitError with All and a Reason. With an
// error, only Billed of the page is set.
func (f *Fetcher) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	page, err := f.timeline(ctx, &q)
	page.Billed.Users += f.users.owed.Swap(0)
	if err != nil {
		who := q.Username
		if who == "" {
			who = q.UserID
		}
		return fetcher.Page{Billed: page.Billed}, fmt.Errorf("xapi: account %q: %w", who, err)
	}
	return page, nil
}

func (f *Fetcher) timeline(ctx context.Context, q *fetcher.TimelineQuery) (page fetcher.Page, err error) {
	id := q.UserID
	if id == "" {
		if id, err = f.users.find(ctx, q.Username); err != nil {
			return page, err
		}
	}
	var r reading
	if q.Cursor != "" {
		if r, err = parseCursor(q.Cursor); err != nil {
			return page, err
		}
	} else {
		r = f.bounds.begin(id, q, f.client.now())
	}
	a, d, err := f.read(ctx, "/2/users/"+url.PathEscape(id)+"/tweets", f.asks+r.timelineQuery(pageSize(q.Limit, leastPosts, f.cfg.FirstPage, r.since != 0)))
	if err != nil {
		return page, err
	}
	page.Billed = f.client.bill(d)
	if len(d.Data) == 0 {
		if err := d.accountFault(); err != nil {
			return page, err
		}
	}
	token, err := d.nextToken()
	if err != nil {
		return page, err
	}
	page.UserID, page.RateLimit, page.ServerTime = id, a.rate, a.at
	whole := fill(&page, d, q.Seen)
	for i := range page.Tweets {
		setAuthor(&page.Tweets[i], id, q.Username)
	}
	r.see(d.Data, f.client.now())
	if token != "" {
		page.Next = r.next(token)
		return page, nil
	}
	if r.since != 0 {
		page.OldestAt = time.UnixMilli(r.since).UTC()
	}
	if whole {
		f.bounds.ended(id, &r)
	}
	return page, nil
}

// timelineQuery returns the query parameters for a page of a timeline.
func (r *reading) timelineQuery(size int) string {
	var p parameters
	p.count("max_results", size)
	p.set("since_id", r.sinceID)
	if r.start != 0 {
		p.set("start_time", url.QueryEscape(time.Unix(r.start, 0).UTC().Format(time.RFC3339)))
	}
	p.set("pagination_token", url.QueryEscape(r.token))
	return p.String()
}

// setAuthor fills in the author's id or name if the post lacks it. The author is the polled
// account, because a timeline has no posts of other accounts.
func setAuthor(t *fetcher.Tweet, id, username string) {
	if t.UserID == "" {
		t.UserID = id
	}
	if t.Username == "" && t.UserID == id && username != "" {
		t.Username, t.Permalink = username, "" // the default permalink has the name
	}
}

// accountFault returns the error for the first problem in the answer that concerns the account,
// or nil if there is none. It ignores problems of posts, media, polls and places.
func (d *document[T]) accountFault() error {
	for i := range d.Errors {
		switch p := &d.Errors[i]; strings.ToLower(p.ResourceType) {
		case "tweet", "post", "media", "poll", "place":
		default:
			return accountError(p)
		}
	}
	return nil
}

// accountError returns the error for a problem of an account: ErrProtected, ErrNotFound, or an
// error with the problem's text. The error never stops the polls of other accounts.
func accountError(p *problem) error {
	text := p.text()
	switch p.kind() {
	case "not-authorized-for-resource", "disallowed-resource", "resource-unavailable", "forbidden":
		return fmt.Errorf("%w: %s", fetcher.ErrProtected, text)
	case "resource-not-found":
		return fmt.Errorf("%w: %s", gone(p), text)
	}
	if strings.Contains(strings.ToLower(text), "suspended") {
		return fmt.Errorf("%w: %s", fetcher.ErrProtected, text)
	}
	return errors.New(text)
}
