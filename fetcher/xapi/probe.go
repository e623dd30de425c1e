package xapi

import (
	"context"
	"fmt"
	"net/url"
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
	for i, id := range ids {
		if id != "" {
			out.Marks[i] = marks[id]
		}
	}
	out.RateLimit, out.ServerTime = a.rate, a.at
	return out, nil
}
