package xapi

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
)

// UsersProbe tells by the post counts of up to 100 accounts which of them have changed.
// It is a fetcher.Prober, safe for concurrent use.
//
// It costs $0.010 for each account and day, however often it is asked: $10 a day for
// 1,000 accounts. Timelines with a lower bound cost nothing when nothing is new, and an
// app may read 10,000 in 15 minutes. So a probe pays only where calls are the bound.
type UsersProbe struct{ f *Fetcher }

var _ fetcher.Prober = (*UsersProbe)(nil)

// NewUsersProbe returns a probe with the access of a Fetcher.
func NewUsersProbe(f *Fetcher) *UsersProbe { return &UsersProbe{f} }

// ProbeLimit returns 100.
func (*UsersProbe) ProbeLimit() int { return mostUsers }

// Probe asks for the accounts with known ids, by their UserID or by a Timeline call
// of the Fetcher, in one request. An account has no mark before, nor when it is
// protected, or missing in the answer. A deletion and a new post at once hide each other.
func (p *UsersProbe) Probe(ctx context.Context, accounts []fetcher.Account) (fetcher.Probe, error) {
	if len(accounts) > mostUsers {
		return fetcher.Probe{}, fmt.Errorf("xapi: a probe of %d accounts is not allowed: want at most %d", len(accounts), mostUsers)
	}
	out := fetcher.Probe{Marks: make([]fetcher.Mark, len(accounts))}
	ids, asked := p.f.users.knownIDs(accounts)
	if len(asked) == 0 {
		return out, ctx.Err()
	}
	a, err := p.f.client.get(ctx, "/2/users", "ids="+url.QueryEscape(strings.Join(asked, ","))+"&user.fields=protected,public_metrics")
	if err != nil {
		return fetcher.Probe{}, fmt.Errorf("xapi: users probe: %w", err)
	}
	d, err := decode[user](a.body)
	if err != nil {
		return fetcher.Probe{}, fmt.Errorf("xapi: users probe: %w", err)
	}
	marks := make(map[string]fetcher.Mark, len(d.Data))
	for i := range d.Data {
		u := &d.Data[i]
		out.Billed.Users += p.f.client.ledger.charge(p.f.client.now(), billedUser, u.ID)
		if n := u.Metrics.posts(); n != nil && (u.Protected == nil || !*u.Protected) {
			marks[u.ID] = fetcher.Mark(*n) + 1
		}
	}
	out.Marks = markAll(ids, marks)
	out.RateLimit, out.ServerTime = a.rate, a.at
	return out, nil
}

// ListProbe tells by the newest posts of a list of X which of its members have posted.
// It is a fetcher.Prober, safe for concurrent use. An account that is no member, and one
// without a post among the newest, has no mark.
//
// X bills each post that it returns once a day, and this endpoint has no lower bound: the
// first call of a UTC day also costs a page of old posts, $0.50 for 100. The authors of
// the posts, $0.010 each once a day, may be billed as well. Replies to accounts that are
// not on the list are left out.
type ListProbe struct {
	f    *Fetcher
	path string
	size int
}

var _ fetcher.Prober = (*ListProbe)(nil)

// mostMembers is how many accounts a list of X may have.
const mostMembers = 5000

// NewListProbe returns a probe of the list with an id, that asks for 1 to 100 posts in a
// call: as many as its members post between two calls. 0 asks for 100.
func NewListProbe(f *Fetcher, listID string, posts int) (*ListProbe, error) {
	if _, ok := numericID(listID); !ok {
		return nil, fmt.Errorf("xapi: list %q is not allowed: want its id, a number", clip(listID))
	}
	if posts == 0 {
		posts = mostPosts
	}
	if posts < 1 || posts > mostPosts {
		return nil, fmt.Errorf("xapi: %d posts of a list are not allowed: want 1 to %d, or 0 for %d", posts, mostPosts, mostPosts)
	}
	return &ListProbe{f, "/2/lists/" + listID + "/tweets", posts}, nil
}

// ProbeLimit returns 5000, the most members of a list.
func (*ListProbe) ProbeLimit() int { return mostMembers }

// Probe asks for the newest posts of the list, in one request. A mark stands for the
// newest post of an account.
func (p *ListProbe) Probe(ctx context.Context, accounts []fetcher.Account) (fetcher.Probe, error) {
	if len(accounts) > mostMembers {
		return fetcher.Probe{}, fmt.Errorf("xapi: a probe of %d accounts is not allowed: want at most %d", len(accounts), mostMembers)
	}
	out := fetcher.Probe{Marks: make([]fetcher.Mark, len(accounts))}
	ids, asked := p.f.users.knownIDs(accounts)
	if len(asked) == 0 {
		return out, ctx.Err()
	}
	a, d, err := p.f.read(ctx, p.path, "expansions=author_id&max_results="+strconv.Itoa(p.size))
	if err != nil {
		return fetcher.Probe{}, fmt.Errorf("xapi: list probe: %w", err)
	}
	marks := map[string]fetcher.Mark{}
	for i := range d.Data {
		if n, ok := numericID(d.Data[i].ID); ok {
			author := d.Data[i].AuthorID
			marks[author] = max(marks[author], fetcher.Mark(n))
		}
	}
	out.Marks = markAll(ids, marks)
	out.RateLimit, out.ServerTime = a.rate, a.at
	out.Billed = p.f.client.bill(d)
	return out, nil
}

// markAll sets the marks of accounts by their ids; those without an id have none.
func markAll(ids []string, marks map[string]fetcher.Mark) []fetcher.Mark {
	out := make([]fetcher.Mark, len(ids))
	for i, id := range ids {
		if id != "" {
			out[i] = marks[id]
		}
	}
	return out
}
