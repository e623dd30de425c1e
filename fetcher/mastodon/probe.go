package mastodon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/scan"
)

// maxProbed is the largest number of accounts in a GET /api/v1/accounts.
const maxProbed = 40

var (
	_ fetcher.Prober   = (*Fetcher)(nil)
	_ fetcher.Bucketer = (*Fetcher)(nil)
)

// ProbeLimit returns 40.
func (f *Fetcher) ProbeLimit() int { return maxProbed }

// Probe reads the marks of up to 40 accounts in one request. A mark is computed from
// statuses_count, which includes boosts and posts for followers only. For an account of another
// server, it counts the posts that have reached this server. A new post and a deletion between
// two probes leave the mark unchanged. The id comes from UserID or from a Timeline call of this
// Fetcher within the last hour. An account has no mark if its id is unknown, or if the server's
// answer does not have it.
//
// Probe needs Mastodon 4.3. It returns ErrUnsupported for a server without this call.
func (f *Fetcher) Probe(ctx context.Context, accounts []fetcher.Account) (fetcher.Probe, error) {
	if len(accounts) > maxProbed {
		return fetcher.Probe{}, fmt.Errorf("mastodon: a probe of %d accounts is not allowed: want at most %d", len(accounts), maxProbed)
	}
	p := fetcher.Probe{Marks: make([]fetcher.Mark, len(accounts))}
	ids := make([]string, len(accounts))
	var asked []string
	for i, a := range accounts {
		if ids[i] = f.knownID(a); ids[i] != "" {
			asked = append(asked, ids[i])
		}
	}
	if len(asked) == 0 {
		return p, nil
	}
	resp, err := f.client.Get(ctx, "/api/v1/accounts?"+url.Values{"id[]": asked}.Encode(), nil)
	var status *fetcher.StatusError
	switch {
	case errors.Is(err, fetcher.ErrNotFound), errors.As(err, &status) && status.Code == http.StatusMethodNotAllowed:
		return fetcher.Probe{}, fmt.Errorf("mastodon: accounts by id: %w: %w", fetcher.ErrUnsupported, err)
	case err != nil:
		return fetcher.Probe{}, fmt.Errorf("mastodon: accounts by id: %w", err)
	}
	defer resp.Release()
	listed, err := decodeAccounts(resp.Body)
	if err != nil {
		return fetcher.Probe{}, fmt.Errorf("mastodon: accounts by id: %w", err)
	}
	marks := make(map[string]fetcher.Mark, len(listed))
	for _, a := range listed {
		marks[a.id] = a.mark
	}
	for i, id := range ids {
		if id != "" {
			p.Marks[i] = marks[id]
		}
	}
	p.RateLimit, p.ServerTime = resp.RateLimit, resp.ServerTime
	return p, nil
}

// knownID returns an account's id without a request, or "" if it is not known.
func (f *Fetcher) knownID(a fetcher.Account) string {
	if a.UserID != "" {
		return a.UserID
	}
	return f.names.ID(a.Username)
}

// listedAccount is an element of a list of accounts.
type listedAccount struct {
	id, acct string
	mark     fetcher.Mark // number of posts plus 1; NoMark if the number is unknown
}

var accountList = scan.NewPlan("", nil, []string{"id", "acct", "statuses_count"})

// decodeAccounts decodes the first maxPosts elements of a list of accounts. It leaves out
// accounts without an id.
func decodeAccounts(body []byte) ([]listedAccount, error) {
	var list []listedAccount
	s := accountList.Scan(body)
	for s.Next() {
		a := listedAccount{id: string(identText(s.Value(0)))}
		if acct, ok := s.Value(1).Text(); ok {
			a.acct = strings.ToLower(string(acct))
		}
		if n, err := strconv.ParseUint(string(s.Value(2)), 10, 32); err == nil {
			a.mark = fetcher.Mark(n + 1)
		}
		if a.id != "" && len(list) < maxPosts {
			list = append(list, a)
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("list of accounts: %w", err)
	}
	if _, ok := s.Len(); !ok {
		return nil, fmt.Errorf("%w: want a list of accounts", fetcher.ErrMalformed)
	}
	return list, nil
}

// Bucket implements fetcher.Bucketer. A server counts all calls of a user or an address together
// (docs.joinmastodon.org/api/rate-limits), so the bucket of timelines and probes is "".
func (f *Fetcher) Bucket(fetcher.Call) string { return "" }
