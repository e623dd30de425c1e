package detect

import (
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule/query"
)

// Subscription says which posts its Source, a monitor or a rule, wants.
type Subscription struct {
	Source   deliver.Source
	Accounts []monitor.Account
	// Interval is the desired time between two polls of an account. The shortest of an account's
	// subscriptions applies. When a budget sets the pace, Interval is only an upper limit, and 0
	// means no limit.
	Interval time.Duration
	// Weight is how much a post's latency counts when a budget sets the pace. The weights of
	// an account's subscriptions add up. Defaults to 1.
	Weight float64
	// Match reports whether a post is an event; nil accepts all.
	Match func(*fetcher.Tweet) bool
	// Resumed is when the source last became active again; zero if it never did. Nodes hear of that
	// with a delay: for 45 s they may poll without the source.
	Resumed time.Time
	// Spread delays the first polls to their offsets in the interval. Without it, all accounts are
	// polled immediately.
	Spread bool
	// Missed is how long accounts may have gone without polls because the node that polled them is
	// gone. With Spread, an account is polled immediately if its offset fell into that time.
	Missed time.Duration

	program *query.Program // replaces Match for a rule that gets posts from timelines
	read    time.Time      // see accounts.Terms
	resumes bool           // see accounts.Terms
	kept    bool           // the rule leaves its search, and the query's cursor stays for the next process
}

// Limits of a subscription.
const (
	maxInterval = 366 * 24 * time.Hour
	maxWeight   = 1e6
)

// MinBound is the shortest Interval allowed when a budget sets the pace. No account is
// polled more often.
const MinBound = time.Second

// ForMonitor returns the subscription of an active monitor.
func ForMonitor(m monitor.Monitor) Subscription {
	return Subscription{
		Source:   deliver.Source{Kind: deliver.SourceMonitor, ID: m.ID, Owner: m.Owner, Name: m.Name},
		Accounts: m.Accounts,
		Interval: m.PollInterval,
		Weight:   m.Weight,
		Match:    poll.OfTypes(m.FilterTypes),
		Resumed:  m.ResumedAt,
	}
}

func (s *Subscription) weight() float64 {
	if s.Weight == 0 {
		return 1
	}
	return s.Weight
}

// onShard converts the subscription to the form used by a shard; mine is the shard's share
// of the accounts.
func (s *Subscription) onShard(mine []accounts.Account, late bool) accounts.Subscription {
	return accounts.Subscription{
		Terms: accounts.Terms{Source: poll.Source{Source: s.Source, Match: s.Match}, Interval: s.Interval, Weight: s.weight(), Read: s.read, Resumes: s.resumes},
		All:   s.Accounts, Mine: mine, Program: s.program, Spread: s.Spread, Missed: s.Missed, Late: late,
	}
}

func (s *Subscription) validate(pace Pace) error {
	if s.Source.ID == "" {
		return fmt.Errorf("detect: Source.ID %q is not allowed: want the monitor's id", s.Source.ID)
	}
	if s.Interval < 0 || s.Interval > maxInterval || s.Interval == 0 && pace == PaceInterval {
		return fmt.Errorf("detect: Interval %s is not allowed: want more than 0 and at most %s", s.Interval, maxInterval)
	}
	if pace != PaceInterval && s.Interval > 0 && s.Interval < MinBound {
		return fmt.Errorf("detect: Interval %s is not allowed: want at least %s, or 0 for none, when a budget sets the pace", s.Interval, MinBound)
	}
	if !(s.Weight >= 0 && s.Weight <= maxWeight) {
		return fmt.Errorf("detect: Weight %v is not allowed: want 0 to %g", s.Weight, float64(maxWeight))
	}
	for _, a := range s.Accounts {
		if a.Username == "" || len(a.Username) > poll.MaxIDLength {
			return fmt.Errorf("detect: Accounts: username %q is not allowed: want a handle of at most %d bytes", clip(a.Username), poll.MaxIDLength)
		}
	}
	return nil
}

// clip cuts a name or an id to 64 bytes for an error text.
func clip(s string) string { return s[:min(len(s), 64)] }
