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

// QuerySubscription says which posts a source, a rule, wants.
type QuerySubscription struct {
	// Source has an id that no Subscription has.
	Source deliver.Source
	// Query is what the Searcher is asked. Subscriptions with the same text share their
	// polls. ForRule takes Program.Canonical, which makes the same of queries that differ
	// in spaces, needless parentheses and quotes, or the case of their words.
	Query string
	// Interval is the wished time between two polls; the shortest of a query's
	// subscriptions counts.
	Interval time.Duration
	// Next, in place of Interval, returns the first time after its argument at which to
	// poll; Every is the shortest time between two such times, for plans.
	Next  func(time.Time) time.Time
	Every time.Duration
	// MaxResults bounds the posts read in a poll; the largest of a query's
	// subscriptions counts. A page that has more is taken whole.
	MaxResults int
	// Since: posts published before are not events. Resumed is as in Subscription.
	Since, Resumed time.Time
	// Match decides whether a post that the Searcher found is an event; nil takes all.
	Match func(*fetcher.Tweet) bool
	// Authors are accounts whose timelines together have every post that answers the
	// query, nil for none; Answers is the query, which tells those posts from others. Where
	// monitors have all authors polled as often anyway, no search is made. The Fetcher is
	// asked for them by monitor.Key.
	Authors []string
	Answers *query.Program
	// Spread lets the first poll wait for its place in the interval.
	Spread bool

	target    string   // of Query, in the journal
	timelines []string // of Authors, likewise
}

// ForRule returns an active rule's subscription; parsed is the parsed rule. The Searcher's
// answers are trusted unless check is set: then posts that do not match the query are left
// out, if the query can be decided by a post alone.
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

// ErrNoSearcher reports a query that cannot be polled: there is no Searcher, and there are
// no accounts whose timelines have all of its posts.
var ErrNoSearcher = errors.New("detect: no Searcher for the query")

// maxQuery bounds a query's text, in bytes, and maxFound what a poll may read.
const maxQuery, maxFound = 16 << 10, 1000

// check validates the subscription, for a detector that may have a Searcher, and names its
// targets.
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

// every is the shortest time between two polls that the subscription asks for.
func (s *QuerySubscription) every() time.Duration {
	if s.Next != nil {
		return s.Every
	}
	return s.Interval
}

// coverable reports whether timelines can stand in for the search. They cannot for a
// schedule, since accounts are not polled by it.
func (s *QuerySubscription) coverable() bool {
	return len(s.Authors) > 0 && s.Answers != nil && s.Next == nil
}

// served returns the time up to which posts were read for the subscription, going by a cursor
// of the journal: Since if the cursor may be of polls by a node that had not yet heard that
// the source is active again.
func (s *QuerySubscription) served(cursor time.Time) time.Time {
	if accounts.Unheard(cursor, s.Resumed) && s.Since.Before(cursor) {
		return s.Since
	}
	return cursor
}

// terms returns the subscription in the form of the shard that searches for the query.
func (s *QuerySubscription) terms() *queries.Terms {
	return &queries.Terms{Source: poll.Source{Source: s.Source, Match: s.Match}, Query: s.Query,
		Interval: s.Interval, Next: s.Next, Every: s.Every, MaxResults: s.MaxResults, Since: s.Since, Spread: s.Spread}
}

// want returns the subscription in the form of package routing.
func (s *QuerySubscription) want() routing.Want {
	return routing.Want{ID: s.Source.ID, Query: s.Query, Since: s.Since, Every: s.every(), Authors: s.Authors}
}

// SetQuery adds a query subscription, or replaces the one its source has, and
// returns when it is in effect; before Run it only takes note. A query that
// nobody had is polled at once if it has an interval. Posts published before
// Since are not events. ErrNoSearcher when the query cannot be polled.
func (d *Detector) SetQuery(ctx context.Context, sub QuerySubscription) error {
	if err := sub.check(d.deps.Roles.Search != nil); err != nil {
		return invalid.Refused(err)
	}
	return d.router.set(ctx, sub)
}

// CheckQuery returns why SetQuery refuses a subscription, nil if it does not.
func (d *Detector) CheckQuery(s QuerySubscription) error { return s.check(d.deps.Roles.Search != nil) }

// RemoveQuery ends a source's query subscription, if there is one, and returns when
// nothing of it can be committed any more.
func (d *Detector) RemoveQuery(ctx context.Context, sourceID string) error {
	return d.router.remove(ctx, sourceID)
}

// QueryTarget returns a query's name in the journal and in a Gap: "query:" and its text, or
// of a text of more than 500 bytes the SHA-256. AccountTarget returns an account's name.
func QueryTarget(text string) string       { return queries.Target(text) }
func AccountTarget(username string) string { return accounts.Key(username) }
