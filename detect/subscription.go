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

// Subscription says which posts a source, a monitor, wants.
type Subscription struct {
	Source   deliver.Source
	Accounts []monitor.Account
	// Interval is the wished time between two polls of an account; the shortest of
	// an account's subscriptions counts. When a budget sets the pace, Interval is only
	// an upper bound, and 0 means none.
	Interval time.Duration
	// Weight is how much a post's latency counts when a budget sets the pace;
	// the weights of an account's subscriptions add up. Defaults to 1.
	Weight float64
	// Match decides whether a post is an event; nil takes all.
	Match func(*fetcher.Tweet) bool
	// Resumed is when the source last became active again, zero for never. For 45 s after it,
	// polls by a node that has not heard of it yet may leave the source out.
	Resumed time.Time
	// Spread lets the first polls wait for their place in the interval, so that
	// a start with many accounts does not poll them all at once.
	Spread bool
	// Missed is for how long accounts may not have been polled because the node that polled
	// them is gone. With Spread, accounts whose place in the interval came in this time are
	// polled at once.
	Missed time.Duration

	program *query.Program // of a rule whose posts come from timelines; in place of Match
	read    time.Time      // see accounts.Terms
	resumes bool           // likewise
	kept    bool           // of a rule that leaves its search: the cursor of the query stays for the next process
}

// Bounds of a subscription.
const (
	maxInterval = 366 * 24 * time.Hour
	maxWeight   = 1e6
)

// MinBound is the shortest Interval allowed where a budget sets the pace. No account is
// polled more often.
const MinBound = time.Second

// ForMonitor makes an active monitor's subscription.
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

// onShard returns the subscription in the form of a shard, for its share of the accounts.
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

// clip shortens a name or an id for an error.
func clip(s string) string { return s[:min(len(s), 64)] }
