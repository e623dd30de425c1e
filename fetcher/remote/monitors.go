package remote

import (
	"context"
	"fmt"
	"strconv"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/scan"
	"github.com/streamwatch/streamwatch/monitor"
)

const (
	monitorsOnPage  = 100       // the most that a service lists
	maxMonitorPages = 100       // further monitors are left out
	maxTracked      = 1_000_000 // accounts; further ones are left out
)

// kinds is a set of kinds of posts.
type kinds uint8

const (
	original kinds = 1 << iota
	reply
	retweet
	quote
	allKinds = original | reply | retweet | quote
)

var filterTypes = map[monitor.FilterType]kinds{monitor.Original: original, monitor.Reply: reply, monitor.Retweet: retweet, monitor.Quote: quote}

// kindsOf returns the kinds of posts that a monitor's filter_types select. An empty list
// selects all.
func kindsOf(types []monitor.FilterType) (k kinds) {
	if len(types) == 0 {
		return allKinds
	}
	for _, ft := range types {
		k |= filterTypes[ft]
	}
	return k
}

// tracked maps the accountKey of each account to the kinds of its posts that active monitors
// of the API key's owner find.
type tracked map[string]kinds

// brings reports whether a monitor finds a post.
func (tr tracked) brings(t *fetcher.Tweet) bool { return tr.kinds(t)&kindsOfPost(t) != 0 }

// kinds returns the kinds of posts that monitors find of a post's author.
func (tr tracked) kinds(t *fetcher.Tweet) kinds {
	k, ok := tr[accountKey(fetcher.SourceName(t.Platform, t.Username))]
	if !ok { // a monitor may name an account by its id, such as a DID
		k = tr[accountKey(fetcher.SourceName(t.Platform, t.UserID))]
	}
	return k
}

// kindsOfPost returns the kinds of a post. A reply that quotes a post has both kinds.
func kindsOfPost(t *fetcher.Tweet) (k kinds) {
	if t.IsReply() {
		k |= reply
	}
	if t.IsRetweet {
		k |= retweet
	}
	if t.IsQuoteStatus && !t.IsRetweet {
		k |= quote
	}
	if k == 0 {
		k = original
	}
	return k
}

// monitors reads which accounts have an active monitor.
func (s service) monitors(ctx context.Context) (tracked, error) {
	tr := tracked{}
	for page := 1; page <= maxMonitorPages; page++ {
		path := s.prefix + "/stream/monitors?status=active&page_size=" + strconv.Itoa(monitorsOnPage) + "&page=" + strconv.Itoa(page)
		resp, err := s.client.Get(ctx, path, nil)
		if err != nil {
			return nil, fmt.Errorf("list of monitors: %w", meaning(err))
		}
		n, err := tr.add(resp.Body)
		resp.Release()
		if err != nil {
			return nil, fmt.Errorf("list of monitors: %w", err)
		}
		if n < monitorsOnPage {
			break
		}
	}
	return tr, nil
}

// monitorList is the plan to scan a page of monitors. add uses the indices of its paths.
var monitorList = scan.NewPlan("monitors", nil, []string{"usernames", "filter_types", "status"})

// add adds the accounts of a page of monitors, and returns the number of monitors on the page.
func (tr tracked) add(body []byte) (int, error) {
	s := monitorList.Scan(body)
	for s.Next() {
		var usernames []string
		var types []monitor.FilterType
		_ = unmarshal(s.Value(0), &usernames) // stays empty if the value is not a list of names
		_ = unmarshal(s.Value(1), &types)
		if status, ok := s.Value(2).Text(); ok && string(status) != string(monitor.Active) {
			continue
		}
		found := kindsOf(types) // 0 if only unknown types are listed
		for _, name := range usernames {
			name = accountKey(name)
			if _, known := tr[name]; name != "" && found != 0 && (known || len(tr) < maxTracked) {
				tr[name] |= found
			}
		}
	}
	if err := s.Err(); err != nil {
		return 0, err
	}
	n, ok := s.Len()
	if !ok {
		return 0, fmt.Errorf("%w: the answer has no list \"monitors\"", fetcher.ErrMalformed)
	}
	return n, nil
}
