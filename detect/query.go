package detect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/queries"
	"github.com/streamwatch/streamwatch/detect/internal/routing"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/rule/query"
)

// QuerySubscription says which posts a rule, its Source, wants.
type QuerySubscription struct {
	// Source must have an id that no Subscription has.
	Source deliver.Source
	// Query is the text that the Searcher is asked for. Subscriptions with the same text share
	// their polls. ForRule sets it to Program.Canonical. This is the same for queries that differ
	// only in spaces, needless parentheses and quotes, or the case of their words.
	Query string
	// Interval is the desired time between two polls. The shortest of a query's subscriptions
	// applies.
	Interval time.Duration
	// Next replaces Interval, if it is set. It returns the first poll time after its argument.
	// Every is the shortest time between two such times, for plans.
	Next  func(time.Time) time.Time
	Every time.Duration
	// MaxResults limits the posts read in a poll. The largest of a query's subscriptions applies.
	// If a page has more posts, the whole page is used.
	MaxResults int
	// Since is the time from which posts are events. Older posts are no events. Resumed is as in
	// Subscription.
	Since, Resumed time.Time
	// Match reports whether a post found by the Searcher is an event; nil accepts all.
	Match func(*fetcher.Tweet) bool
	// Authors are accounts that together publish every post of the query; nil if unknown. Answers
	// is the query; it selects these posts from the authors' timelines. If monitors have all
	// authors polled at least as often anyway, no search is made. The Fetcher gets the authors'
	// names as monitor.Key.
	Authors []string
	Answers *query.Program
	// Spread delays the first poll to its offset in the interval.
	Spread bool

	target    string   // target of Query in the journal
	timelines []string // targets of Authors in the journal
}

// ForRule returns the subscription of an active rule r; parsed is the parsed r. Without check, all
// of the Searcher's posts are accepted. With check, posts that do not match the query are left out,
// if a post alone decides whether it matches.
func ForRule(r rule.Rule, parsed rule.Parsed, check bool) QuerySubscription {
	p := parsed.Query
	sub := QuerySubscription{
		Source: deliver.Source{Kind: deliver.SourceRule, ID: r.ID, Owner: r.Owner, Name: r.Tag},
		Query:  p.Canonical(), Interval: r.Interval, MaxResults: r.MaxResults, Since: r.Since, Resumed: r.ResumedAt,
		Authors: p.Authors(), Answers: p,
	}
	if check && len(p.NeedsUpstream()) == 0 {
		sub.Match = p.Match
	}
	if s := parsed.Schedule; s != nil {
		sub.Interval, sub.Next, sub.Every = 0, s.Next, s.Every(r.Since)
	}
	return sub
}

// ErrNoSearcher reports a query that cannot be polled. There is no Searcher, and no accounts are
// known to publish all of its posts.
var ErrNoSearcher = errors.New("detect: no Searcher for the query")

// maxQuery limits a query's text, in bytes; maxFound limits how many posts one poll may
// read.
const maxQuery, maxFound = 16 << 10, 1000

// check validates the subscription and sets its targets. search is true if the detector has a
// Searcher.
func (s *QuerySubscription) check(search bool) error {
	if s.Source.ID == "" {
		return fmt.Errorf("detect: Source.ID %q is not allowed: want the rule's id", s.Source.ID)
	}
	if s.Query == "" || len(s.Query) > maxQuery {
		return fmt.Errorf("detect: Query %q is not allowed: want 1 to %d bytes", clip(s.Query), maxQuery)
	}
	if s.MaxResults < 1 || s.MaxResults > maxFound {
		return fmt.Errorf("detect: MaxResults %d is not allowed: want 1 to %d", s.MaxResults, maxFound)
	}
	if s.Next == nil && (s.Interval <= 0 || s.Interval > maxInterval) {
		return fmt.Errorf("detect: Interval %s is not allowed: want more than 0 and at most %s, or Next", s.Interval, maxInterval)
	}
	if s.Next != nil && (s.Interval != 0 || s.Every <= 0) {
		return fmt.Errorf("detect: Interval %s with Next and Every %s is not allowed: want Next and a positive Every alone", s.Interval, s.Every)
	}
	s.target = queries.Target(s.Query)
	authors := make([]string, len(s.Authors))
	for i, name := range s.Authors {
		if name == "" || len(name) > poll.MaxIDLength {
			return fmt.Errorf("detect: Authors: username %q is not allowed: want a handle of at most %d bytes", clip(name), poll.MaxIDLength)
		}
		authors[i] = monitor.Key(name)
	}
	slices.Sort(authors)
	s.Authors, s.timelines = slices.Compact(authors), nil
	for _, name := range s.Authors {
		s.timelines = append(s.timelines, accounts.Key(name))
	}
	if !search && !s.coverable() {
		return fmt.Errorf("%w %q", ErrNoSearcher, clip(s.Query))
	}
	return nil
}

// every returns the shortest time between two polls that the subscription asks for.
func (s *QuerySubscription) every() time.Duration {
	if s.Next != nil {
		return s.Every
	}
	return s.Interval
}

// coverable reports whether timelines can replace the search. They cannot replace a search
// with a schedule, because accounts are not polled by schedules.
func (s *QuerySubscription) coverable() bool {
	return len(s.Authors) > 0 && s.Answers != nil && s.Next == nil
}

// served returns the time up to which posts were read for the subscription, given the journal's
// cursor of a target. A node that had not yet heard of the source's resumption may have made the
// polls behind the cursor. In that case served returns Since.
func (s *QuerySubscription) served(cursor time.Time) time.Time {
	if accounts.Unheard(cursor, s.Resumed) && s.Since.Before(cursor) {
		return s.Since
	}
	return cursor
}

// terms converts the subscription to the form used by the shard that makes the search.
func (s *QuerySubscription) terms() *queries.Terms {
	return &queries.Terms{Source: poll.Source{Source: s.Source, Match: s.Match}, Query: s.Query,
		Interval: s.Interval, Next: s.Next, Every: s.Every, MaxResults: s.MaxResults, Since: s.Since, Spread: s.Spread}
}

// want converts the subscription to the form used by package routing.
func (s *QuerySubscription) want() routing.Want {
	return routing.Want{ID: s.Source.ID, Query: s.Query, Since: s.Since, Every: s.every(), Authors: s.Authors}
}

// SetQuery adds a query subscription, or replaces its source's present one, and returns when it is
// in effect. Before Run it only records the subscription. A new query with an interval is polled
// immediately. Posts published before Since are not events. It returns ErrNoSearcher if the query
// cannot be polled.
func (d *Detector) SetQuery(ctx context.Context, sub QuerySubscription) error {
	if err := sub.check(d.deps.Roles.Search != nil); err != nil {
		return invalid.Refused(err)
	}
	return d.router.set(ctx, sub)
}

// CheckQuery returns the error with which SetQuery would refuse s, or nil.
func (d *Detector) CheckQuery(s QuerySubscription) error { return s.check(d.deps.Roles.Search != nil) }

// RemoveQuery ends a source's query subscription, if there is one, and returns when none of
// its events can be committed any more.
func (d *Detector) RemoveQuery(ctx context.Context, sourceID string) error {
	return d.router.remove(ctx, sourceID)
}

// QueryTarget returns a query's name in the journal and in a Gap. It is "query:" followed by the
// text; if the text is longer than 500 bytes, by its SHA-256. AccountTarget returns an account's
// name.
func QueryTarget(text string) string       { return queries.Target(text) }
func AccountTarget(username string) string { return accounts.Key(username) }
