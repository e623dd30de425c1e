package detect

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/seen"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/rule/query"
)

// QuerySubscription says what a source, a rule, wants to know.
type QuerySubscription struct {
	// Source has an id that no Subscription has.
	Source deliver.Source
	// Query is what the Searcher is asked. Subscriptions with the same text share
	// their polls. ForRule takes Program.Canonical, which makes the same of
	// queries that differ in spaces, needless parentheses and quotes, or the case
	// of their words.
	Query string
	// Interval is the wished time between two polls; the shortest of a query's
	// subscriptions counts.
	Interval time.Duration
	// Next, in place of Interval, gives the first time after another at which to
	// poll; Every is the shortest time between two of them, for plans.
	Next  func(time.Time) time.Time
	Every time.Duration
	// MaxResults bounds the posts read in a poll; the largest of a query's
	// subscriptions counts. A page that has more is taken whole.
	MaxResults int
	// Since: posts published before are not events.
	Since time.Time
	// Match decides whether a post that the Searcher found is an event; nil
	// takes all.
	Match func(*fetcher.Tweet) bool
	// Authors are accounts whose timelines together have every post that answers
	// the query, and Answers, the query itself, tells which those are. Where
	// monitors have them all polled as often anyway, no search is made. Nil when
	// there are none.
	Authors []string
	Answers *query.Program
	// Spread lets the first poll wait for its place in the interval.
	Spread bool
}

// ForRule makes an active rule's subscription; p is its query. What the Searcher
// finds is trusted unless check is set: then posts that p does not match are
// left out, where their records suffice to tell.
func ForRule(r rule.Rule, p *query.Program, check bool) (QuerySubscription, error) {
	sub := QuerySubscription{
		Source: deliver.Source{Kind: deliver.SourceRule, ID: r.ID, Owner: r.Owner, Name: r.Tag},
		Query:  p.Canonical(), Interval: r.Interval, MaxResults: r.MaxResults, Since: r.Since,
		Authors: p.Authors(), Answers: p,
	}
	if check && len(p.NeedsUpstream()) == 0 {
		sub.Match = p.Match
	}
	if r.Schedule != "" {
		s, err := rule.ParseSchedule(r.Schedule)
		if err != nil {
			return QuerySubscription{}, err
		}
		sub.Interval, sub.Next, sub.Every = 0, s.Next, s.Every(r.Since)
	}
	return sub, nil
}

// ErrNoSearcher is why a query can not be polled: neither is there a Searcher,
// nor do the timelines of certain accounts have all of its posts.
var ErrNoSearcher = errors.New("detect: no Searcher for the query")

// maxQuery bounds a query's text, in bytes, and maxFound what a poll may read.
const (
	maxQuery = 16 << 10
	maxFound = 1000
)

func (s *QuerySubscription) validate() error {
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
	for _, name := range s.Authors {
		if name == "" || len(name) > maxIDLength {
			return fmt.Errorf("detect: Authors: username %q is not allowed: want a handle of at most %d bytes", clip(name), maxIDLength)
		}
	}
	return nil
}

// every is how often the subscription has its query polled at most.
func (s *QuerySubscription) every() time.Duration {
	if s.Next != nil {
		return s.Every
	}
	return s.Interval
}

// QueryTarget is a query's name in the journal, and in a Gap: "query:" and its
// text, or for one of more than 500 bytes its SHA-256.
func QueryTarget(text string) string {
	if len(text) <= 500 {
		return "query:" + text
	}
	sum := sha256.Sum256([]byte(text))
	return "query:sha256:" + hex.EncodeToString(sum[:])
}

// watchedQuery is a search that is polled, once for all rules that share it. There are
// thousands at most, so it is a struct of its own. Its shard owns it; while a
// poll is under way, its goroutine reads nothing of it but the text.
type watchedQuery struct {
	text   string
	target string
	hash   uint64
	slot   int32 // in searches
	subs   []querySub

	seen    *seen.Set
	horizon time.Duration // of seen

	since       time.Time // when the last complete poll began, zero before the first
	lastPost    time.Time
	lastContact time.Time
	gaps        []Gap
	trouble     *trouble
	skew        time.Duration
	unordered   bool // an answer was not newest first
	dropped     bool // a post was dropped, and the log has it
	// cold: it was read before this process, which has had no answer yet. A first
	// one that is empty is more likely a glitch than the truth.
	cold    bool
	again   bool // poll at once when the poll under way is done
	polling *search
}

// querySub is one rule's interest in a query; see subscriber.
type querySub struct {
	QuerySubscription
	from           time.Time // while fresh: how far back to read for it
	read           time.Time // while fresh: it has got what was visible then, or does not want it
	fresh, covered bool
}

// interval is the shortest that is wished, 0 when schedules alone are.
func (q *watchedQuery) interval() (shortest time.Duration) {
	for i := range q.subs {
		if iv := q.subs[i].Interval; iv > 0 && (shortest == 0 || iv < shortest) {
			shortest = iv
		}
	}
	return shortest
}

// every is how often the query is polled at its busiest.
func (q *watchedQuery) every() (shortest time.Duration) {
	for i := range q.subs {
		if iv := q.subs[i].every(); shortest == 0 || iv < shortest {
			shortest = iv
		}
	}
	return shortest
}

func (q *watchedQuery) maxResults() (most int) {
	for i := range q.subs {
		most = max(most, q.subs[i].MaxResults)
	}
	return most
}

// cutoff is how far back the next poll must read: see shard.cutoff. What lies
// before the overlap of the process before, the journal knows.
func (q *watchedQuery) cutoff(overlap time.Duration) time.Time {
	var wanted time.Time // earliest beginning of all subscribers
	back := q.since
	if !back.IsZero() {
		back = back.Add(-overlap)
	}
	skew := max(0, q.skew)
	for i := range q.subs {
		since := q.subs[i].Since.Add(-skew)
		if i == 0 || since.Before(wanted) {
			wanted = since
		}
		if s := &q.subs[i]; s.fresh && s.from.Add(-skew).Before(back) {
			back = s.from.Add(-skew)
		}
	}
	if back.Before(wanted) {
		return wanted
	}
	return back
}

// remember makes room for what the next polls show: for twice the overlap and
// the time to the next poll. A set that is too short lived is begun anew, and
// the journal drops what it forgot.
func (q *watchedQuery) remember(overlap time.Duration) {
	if need := 2*overlap + min(q.every(), maxInterval); q.seen == nil || q.horizon < need {
		q.seen, q.horizon = seen.NewSet(need), need
	}
}
