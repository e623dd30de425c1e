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

// Timeline reads one page of an account's posts, replies and reposts included, in one
// request, and one more for its id if neither the query nor an earlier call knows it.
//
// With TimelineQuery.Since the page has what is newer: what follows the newest post that
// an earlier read has shown, if Seen knows it, and every Config.AuditEvery everything
// since, so that a post which became visible late is found. Without it the page has the
// newest posts. X shows the newest 3,200.
//
// Errors are those of package fetcher: ErrNotFound also means a handle that nobody has,
// ErrProtected private posts or a suspended account, ErrUnauthorized a token that X
// refuses, and a *RateLimitError says in Reason when credits or a cap are used up, which
// closes the whole source. With an error the page has Billed alone.
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

// timelineQuery is what a read asks of a timeline.
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

// setAuthor names the account as the author of a post without one: a
// timeline holds nobody else's posts.
func setAuthor(t *fetcher.Tweet, id, username string) {
	if t.UserID == "" {
		t.UserID = id
	}
	if t.Username == "" && t.UserID == id && username != "" {
		t.Username, t.Permalink = username, "" // which follows from it
	}
}

// accountFault returns the error of the account of an answer without posts, nil for
// none. A problem of a post that others refer to is no fault of the account.
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

// accountError is what a problem of an account means: it is the account's fault, never
// the source's.
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
