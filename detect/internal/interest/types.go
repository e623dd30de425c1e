package interest

import (
	"slices"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// OfTypes returns a function that reports whether a post is of one of the given
// kinds. It is nil, which takes all posts, for no kinds.
func OfTypes(types []monitor.FilterType) func(*fetcher.Tweet) bool {
	if len(types) == 0 {
		return nil
	}
	types = slices.Clone(types)
	return func(t *fetcher.Tweet) bool {
		return slices.ContainsFunc(types, func(ft monitor.FilterType) bool { return isType(t, ft) })
	}
}

func isType(t *fetcher.Tweet, ft monitor.FilterType) bool {
	quote := t.IsQuoteStatus && !t.IsRetweet
	switch ft {
	case monitor.Reply:
		return t.IsReply()
	case monitor.Retweet:
		return t.IsRetweet
	case monitor.Quote:
		return quote
	default:
		return !t.IsReply() && !t.IsRetweet && !quote
	}
}
