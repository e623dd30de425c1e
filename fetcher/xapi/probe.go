package xapi

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
)

// UsersProbe is a fetcher.Prober that detects changed accounts by their post counts, up to
// 100 accounts per call. It is safe for concurrent use.
//
// It costs $0.010 per account and day, for any number of calls: $10 a day for 1,000 accounts. A
// timeline without new posts is free, and an app may read 10,000 timelines in 15 minutes. Use a
// UsersProbe only if that rate limit is too low.
type UsersProbe struct{ f *Fetcher }

var _ fetcher.Prober = (*UsersProbe)(nil)

// NewUsersProbe returns a probe that uses the token, rate limits and known ids of f.
func NewUsersProbe(f *Fetcher) *UsersProbe { return &UsersProbe{f} }

// ProbeLimit returns 100.
func (*UsersProbe) ProbeLimit() int { return mostUsers }

// Probe reads the marks of up to 100 accounts in one request. The id comes from UserID or from
// an earlier Timeline call of the Fetcher. An account has no mark if it is protected, if it is
// missing from the answer, or if its id is unknown. A new post and a deletion between two
// probes leave the mark unchanged.
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

// ListProbe is a fetcher.Prober that detects new posts of the members of an X list. It reads
// the list's newest posts. An account has no mark if it is not a member, or if none of these
// posts is its own. A ListProbe is safe for concurrent use.
//
// X bills each returned post once a day. The endpoint has no parameter for a lower bound, so
// the first call of a UTC day also returns old posts, at $0.50 for 100. X may also bill the
// posts' authors, at $0.010 each once a day. The list leaves out replies to accounts that are
// not members.
type ListProbe struct {
	f    *Fetcher
	path string
	size int
}

var _ fetcher.Prober = (*ListProbe)(nil)

// mostMembers is the largest number of members of an X list.
const mostMembers = 5000

// NewListProbe returns a probe of the list with that id. posts is the number of posts per
// call, 1 to 100, or 0 for 100. It should be at least the number of posts that the members
// make between two calls.
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

// ProbeLimit returns 5000, the largest number of members of a list.
func (*ListProbe) ProbeLimit() int { return mostMembers }

// Probe reads the newest posts of the list in one request. An account's mark is the id of
// its newest post among them.
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

// markAll returns the mark for each id. An empty or unknown id has no mark.
func markAll(ids []string, marks map[string]fetcher.Mark) []fetcher.Mark {
	out := make([]fetcher.Mark, len(ids))
	for i, id := range ids {
		if id != "" {
			out[i] = marks[id]
		}
	}
	return out
}
