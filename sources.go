package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/platforms"
)

// Source is one platform with its credentials.
type Source struct {
	// Name is the source's name in events, Stats, Plan and log messages. Monitors name accounts
	// "name:account", and rules name the source as their platform. It has 1 to 32 lower-case
	// letters, digits, "-" and "_", begins with a letter, and is not "did". Required.
	//
	// Without Config.Fetcher, new monitors and rules may leave out the name of the source only if
	// there is one source.
	//
	// Ids of events and names of cursors in the Store depend on Name. If a source is renamed, or
	// Config.Fetcher becomes a source with a name, posts may be delivered again, as events with
	// other ids. This concerns posts published since their account was added to its monitor.
	Name string
	// Fetcher reads the accounts' timelines. Required.
	Fetcher fetcher.Fetcher
	// Roles are the other calls that the platform supports: see Config.Roles.
	Roles fetcher.Roles
	// Detect tunes the polling of the source. Each source has its own budgets, backoffs and
	// overlap. DeliverBy defaults to Config.Detect.DeliverBy.
	Detect detect.Config
	// CheckAccount returns an error if no account of the platform can have the name: see
	// Config.CheckAccount.
	CheckAccount func(name string) error
}

var sourceName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// checkSources returns an error if Fetcher and Sources are both missing, or a source has a field
// that is not allowed.
func (c *Config) checkSources() error {
	if c.Fetcher == nil && len(c.Sources) == 0 {
		return errors.New("streamwatch: Config.Fetcher is missing: want a fetcher.Fetcher, or Config.Sources")
	}
	if c.Fetcher == nil && c.Roles != (fetcher.Roles{}) {
		return errors.New("streamwatch: Config.Roles is not allowed without Config.Fetcher: want the Roles of a source")
	}
	if c.Fetcher == nil && c.CheckAccount != nil {
		return errors.New("streamwatch: Config.CheckAccount is not allowed without Config.Fetcher: want the CheckAccount of a source")
	}
	tuned := c.Detect
	tuned.DeliverBy = 0
	if c.Fetcher == nil && tuned != (detect.Config{}) {
		return errors.New("streamwatch: Config.Detect is not allowed without Config.Fetcher, but for its DeliverBy: want the Detect of a source")
	}
	seen := map[string]bool{}
	for i := range c.Sources {
		s := &c.Sources[i]
		switch {
		case !sourceName.MatchString(s.Name) || s.Name == "did":
			return fmt.Errorf(`streamwatch: Config.Sources[%d].Name %q is not allowed: want 1 to 32 lower-case letters, digits, "-" and "_", the first a letter, and not "did"`, i, s.Name)
		case seen[s.Name]:
			return fmt.Errorf("streamwatch: Config.Sources[%d].Name %q is not allowed: want a name for each", i, s.Name)
		case s.Fetcher == nil:
			return fmt.Errorf("streamwatch: Config.Sources[%d].Fetcher of %q is missing: want a fetcher.Fetcher", i, s.Name)
		}
		seen[s.Name] = true
		if err := checkRoles(fmt.Sprintf("Config.Sources[%d]", i), s.Fetcher, s.Roles); err != nil {
			return err
		}
	}
	return checkRoles("Config", c.Fetcher, c.Roles)
}

// checkRoles returns an error if a Fetcher has one method of a role and lacks the other, so that
// the role would not be used and nobody told.
func checkRoles(at string, f fetcher.Fetcher, set fetcher.Roles) error {
	_, probes := f.(interface {
		Probe(context.Context, []fetcher.Account) (fetcher.Probe, error)
	})
	if _, whole := f.(fetcher.Prober); probes && !whole && set.Probe == nil {
		return fmt.Errorf("streamwatch: %s.Fetcher has the method Probe alone: want ProbeLimit, too, or a fetcher.Prober in Roles.Probe", at)
	}
	_, streams := f.(interface {
		Stream(context.Context, fetcher.StreamQuery, func(fetcher.Signal) error) error
	})
	if _, whole := f.(fetcher.Streamer); streams && !whole && set.Stream == nil && set.SearchStream == nil {
		return fmt.Errorf("streamwatch: %s.Fetcher has the method Stream alone: want Brings, too, or a fetcher.Streamer in Roles.Stream", at)
	}
	return nil
}

// allSources returns all sources. Config.Fetcher is the first, if it is set.
func (c *Config) allSources(tuned detect.Config) []Source {
	var all []Source
	if c.Fetcher != nil {
		all = append(all, Source{Fetcher: c.Fetcher, Roles: c.Roles, Detect: tuned, CheckAccount: c.CheckAccount})
	}
	all = append(all, slices.Clone(c.Sources)...)
	for i := range all {
		if all[i].Detect.DeliverBy == 0 {
			all[i].Detect.DeliverBy = tuned.DeliverBy
		}
	}
	return all
}

// checkClaims returns an error if a source's DeliverBy is below shortest: a claim could then run
// out during an attempt.
func (c *Config) checkClaims(tuned detect.Config, shortest time.Duration) error {
	check := func(by time.Duration) error {
		if by < shortest {
			return fmt.Errorf("detect: DeliverBy %s is not allowed: want at least %s, 4 × Deliver.Timeout", by, shortest)
		}
		return nil
	}
	if err := check(tuned.DeliverBy); err != nil {
		return err
	}
	for _, s := range c.allSources(tuned) {
		if err := check(s.Detect.DeliverBy); err != nil {
			return fmt.Errorf("field Sources of %q: %w", s.Name, err)
		}
	}
	return nil
}

// newDetectors makes a detector for each source. Each detector gets a copy of deps, completed for its
// source. enqueue gets the deliveries of commits. m is nil without a fleet.
func (c *Config) newDetectors(tuned detect.Config, deps detect.Deps, enqueue func([]deliver.Delivery), onTrouble func(detect.Trouble), m *membership) (*platforms.Set, error) {
	commits := platforms.NewCommits(enqueue)
	journal := deps.Journal
	var list []platforms.Platform
	for _, src := range c.allSources(tuned) {
		own := deps
		own.Platform, own.Fetcher, own.Roles, own.Logger = src.Name, src.Fetcher, src.Roles, c.Logger
		own.Journal, own.OnCommit = commits.Of(src.Name, journal)
		own.OnGap, own.OnTrouble = c.OnGap, onTrouble
		if m != nil {
			own.Node = m.name
			own.OnClosed = func(bucket string, until time.Time) { m.closed(src.Name, bucket, until) }
		}
		if src.Name != "" {
			own.Logger = c.Logger.With("source", src.Name)
			own.OnTrouble = func(t detect.Trouble) {
				if t.Username != "" {
					t.Username = src.Name + ":" + t.Username
				}
				onTrouble(t)
			}
			if c.OnGap != nil {
				own.OnGap = func(g detect.Gap) {
					g.Target = src.Name + "/" + g.Target
					c.OnGap(g)
				}
			}
		}
		d, err := detect.New(src.Detect, own)
		if err != nil && src.Name != "" {
			return nil, fmt.Errorf("field Sources of %q: %w", src.Name, err)
		} else if err != nil {
			return nil, err
		}
		list = append(list, platforms.Platform{Name: src.Name, Detector: d, Pace: src.Detect.Pace, MinInterval: src.Detect.MinInterval, CheckAccount: src.CheckAccount})
	}
	return platforms.New(list), nil
}

// sourceNames returns the names that are allowed as rule.Rule.Platform.
func (c *Config) sourceNames() (names []string) {
	for i := range c.Sources {
		names = append(names, c.Sources[i].Name)
	}
	return names
}

// needNames reports whether new accounts and rules must name their source, because several have
// names and none has no name.
func (c *Config) needNames() bool { return c.Fetcher == nil && len(c.Sources) > 1 }

// paced reports whether budgets set the pace of all sources. Monitors then need no interval.
func (c *Config) paced() bool {
	return !slices.ContainsFunc(c.allSources(c.Detect), func(s Source) bool { return s.Detect.Pace == detect.PaceInterval })
}

// accountNames knows the names of accounts on all sources.
type accountNames struct {
	platforms *platforms.Set
	sources   []string
	need      bool // Config.needNames
}

// canonical returns the full name of an account. If the account's source has a name, that is
// "source:account", even if the caller omitted the source.
func (n accountNames) canonical(account string) string {
	p, name := n.platforms.Split(account)
	return p.Full(strings.TrimPrefix(name, "@"))
}

// check returns an error if the account's source can have no account of that name.
func (n accountNames) check(account string) error {
	p, name, written := n.platforms.Find(account)
	switch {
	case name == "":
		return errors.New("an account name after the name of the source")
	case !written && n.need:
		return fmt.Errorf("the name of a source (%s), a colon and an account name", strings.Join(n.sources, ", "))
	case p.CheckAccount != nil:
		return p.CheckAccount(name)
	case !written && len(n.sources) > 0 && strings.Contains(name, ":") && !strings.HasPrefix(name, "did:"):
		return fmt.Errorf("an account name, alone or after the name of a source (%s) and a colon", strings.Join(n.sources, ", "))
	}
	return nil
}

// Source returns the source that an account is on, and the account's name there. The Name of
// Config.Fetcher is "". The error is a *monitor.FieldError if no monitor can have the account.
func (e *Engine) Source(account string) (Source, string, error) {
	account, err := e.monitors.CheckUsername(account)
	if err != nil {
		return Source{}, "", err
	}
	p, name := e.platforms.Split(account)
	i := slices.IndexFunc(e.sources, func(s Source) bool { return s.Name == p.Name })
	return e.sources[i], name, nil
}
