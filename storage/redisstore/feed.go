package redisstore

import (
	"context"
	"strings"

	"github.com/streamwatch/streamwatch/fleet"
)

// feed implements fleet.Feed.
type feed struct{ s *Store }

// Feed returns the feed of changed records. It keeps the last 10,000 changes.
func (s *Store) Feed() fleet.Feed { return feed{s} }

// changeOf maps the letter of a stored change to the kind of the changed record: see
// lua/changes.lua.
var changeOf = map[byte]fleet.Kind{'m': fleet.Monitor, 'r': fleet.Rule, 'e': fleet.Endpoint, 'a': fleet.Key}

func (f feed) Since(ctx context.Context, after uint64, limit int) ([]fleet.Change, error) {
	out, err := f.s.run(ctx, "feed_since", "", after, max(limit, 0))
	if err != nil {
		return nil, err
	}
	if text(out[0]) == "old" {
		return nil, fleet.ErrTooOld
	}
	stored := list(out[1])
	changes := make([]fleet.Change, len(stored))
	for i := range stored {
		c := text(stored[i])
		end := strings.Index(c, nameEnd)
		if end < 1 {
			return nil, errRecord
		}
		end += len(nameEnd)
		owner, err := unescaped(c[1:end])
		if err != nil {
			return nil, err
		}
		changes[i] = fleet.Change{N: after + 1 + uint64(i), Kind: changeOf[c[0]], Owner: owner, ID: c[end:]}
	}
	return changes, nil
}

func (f feed) Last(ctx context.Context) (uint64, error) {
	out, err := f.s.run(ctx, "feed_last", "")
	if err != nil {
		return 0, err
	}
	n, err := decimal(text(out[0]))
	return uint64(n), err
}
