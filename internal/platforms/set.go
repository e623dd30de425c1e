package platforms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
)

// Platform is one of a Set.
type Platform struct {
	Name     string // "" for one that has no name of its own
	Detector *detect.Detector
	Pace     detect.Pace
	// CheckAccount returns an error for a name that no account can have; nil takes all.
	CheckAccount func(name string) error
}

// Set is the platforms of a program. Its methods are those of a detect.Detector. They
// are safe for concurrent use.
type Set struct {
	list   []Platform // names without a platform belong to the first
	byName map[string]*Platform
}

// New returns a Set. There has to be a platform, and names must differ.
func New(list []Platform) *Set {
	s := &Set{list: list, byName: make(map[string]*Platform, len(list))}
	for i := range list {
		s.byName[list[i].Name] = &list[i]
	}
	return s
}

// Split returns the platform of an account and its name there.
func (s *Set) Split(account string) (*Platform, string) {
	if name, rest, ok := strings.Cut(strings.TrimPrefix(account, "@"), ":"); ok && name != "" {
		if p := s.byName[strings.ToLower(name)]; p != nil {
			return p, rest
		}
	}
	return &s.list[0], account
}

// Named returns the platform with a name, the first for "", and nil if there is none.
func (s *Set) Named(name string) *Platform {
	if name == "" {
		return &s.list[0]
	}
	return s.byName[name]
}

// AccountTarget is the name of an account's cursor in the journal that Commits shares.
func (s *Set) AccountTarget(account string) string {
	p, name := s.Split(account)
	return p.prefix() + detect.AccountTarget(name)
}

// QueryTargets are the cursors of a query on a platform: its own, and those of the accounts
// whose timelines may have its posts.
func (s *Set) QueryTargets(platform string, sub detect.QuerySubscription) (targets []string) {
	p := s.Named(platform)
	if p == nil {
		return nil
	}
	targets = append(targets, p.prefix()+detect.QueryTarget(sub.Query))
	for _, name := range sub.Authors {
		targets = append(targets, p.prefix()+detect.AccountTarget(name))
	}
	return targets
}

// prefix begins the names of a platform's cursors.
func (p *Platform) prefix() string {
	if p.Name == "" {
		return ""
	}
	return p.Name + "/"
}

// Full is the name of a platform's account as a user writes it.
func (p *Platform) Full(account string) string {
	if p.Name == "" {
		return account
	}
	return p.Name + ":" + account
}

// Set gives each platform its accounts of a subscription.
func (s *Set) Set(ctx context.Context, sub detect.Subscription) error {
	parts := s.parts(sub)
	return s.each(func(p *Platform) error {
		if part, ok := parts[p]; ok {
			return p.Detector.Set(ctx, part)
		}
		return p.Detector.Remove(ctx, sub.Source.ID)
	})
}

// parts divides a subscription among the platforms of its accounts. One without
// accounts is the first platform's.
func (s *Set) parts(sub detect.Subscription) map[*Platform]detect.Subscription {
	accounts := map[*Platform][]monitor.Account{}
	for _, a := range sub.Accounts {
		p, name := s.Split(a.Username)
		a.Username = name
		accounts[p] = append(accounts[p], a)
	}
	if len(accounts) == 0 {
		accounts[&s.list[0]] = nil
	}
	parts := make(map[*Platform]detect.Subscription, len(accounts))
	for p, own := range accounts {
		part := sub
		part.Accounts, part.Interval = own, p.interval(sub.Interval)
		parts[p] = part
	}
	return parts
}

// interval returns the interval for a platform's share of a monitor. Under a budget it is at
// least detect.MinBound: the monitor may have been stored for, or also have accounts of, a
// platform whose pace is set by intervals.
func (p *Platform) interval(asked time.Duration) time.Duration {
	if p.Pace != detect.PaceInterval && asked > 0 {
		return max(asked, detect.MinBound)
	}
	return asked
}

// Remove ends a subscription on all platforms.
func (s *Set) Remove(ctx context.Context, sourceID string) error {
	return s.each(func(p *Platform) error { return p.Detector.Remove(ctx, sourceID) })
}

// each calls fn for each platform, until one fails.
func (s *Set) each(fn func(*Platform) error) error {
	for i := range s.list {
		if err := fn(&s.list[i]); err != nil {
			return err
		}
	}
	return nil
}

// ReadUntil is detect.Detector.ReadUntil of all platforms, by the key of the account's full
// name, and for the first platform also by that of its name there.
func (s *Set) ReadUntil(ctx context.Context, sourceID string, named ...string) (map[string]time.Time, error) {
	all, namesOf := map[string]time.Time{}, map[*Platform][]string{}
	for _, account := range named {
		p, name := s.Split(account)
		namesOf[p] = append(namesOf[p], name)
	}
	err := s.each(func(p *Platform) error {
		until, err := p.Detector.ReadUntil(ctx, sourceID, namesOf[p]...)
		for key, at := range until {
			all[monitor.Key(p.Full(key))] = at
			if p == &s.list[0] {
				all[key] = at
			}
		}
		return err
	})
	return all, err
}

// Account is detect.Detector.Account of the account's platform, with the account's full name.
func (s *Set) Account(ctx context.Context, username string) (st detect.AccountStatus, ok bool, err error) {
	p, name := s.Split(username)
	st, ok, err = p.Detector.Account(ctx, name)
	if ok {
		st.Username = p.Full(st.Username)
	}
	return st, ok, err
}

// AccountOf is Account for an owner: see detect.Detector.
func (s *Set) AccountOf(ctx context.Context, owner, username string) (st detect.AccountStatus, ok bool, err error) {
	p, name := s.Split(username)
	st, ok, err = p.Detector.AccountOf(ctx, owner, name)
	if ok {
		st.Username = p.Full(st.Username)
	}
	return st, ok, err
}

// Worst is detect.Detector.Worst of all platforms together, with full names.
func (s *Set) Worst(ctx context.Context, q detect.WorstQuery) (all []detect.AccountStatus, err error) {
	err = s.each(func(p *Platform) error {
		list, err := p.Detector.Worst(ctx, q)
		for _, st := range list {
			st.Username = p.Full(st.Username)
			all = append(all, st)
		}
		return err
	})
	slices.SortStableFunc(all, func(a, b detect.AccountStatus) int { return cmp.Compare(b.Rank, a.Rank) })
	return all[:min(len(all), q.Limit)], err
}

// Spend takes a call from the budget of a platform, the first for "".
func (s *Set) Spend(ctx context.Context, platform string) error {
	p := s.Named(platform)
	if p == nil {
		return fmt.Errorf("streamwatch: platform %q is not allowed: want a name of Config.Sources", platform)
	}
	return p.Detector.Spend(ctx)
}

// ErrUnknown is the error of SetQuery for a platform that does not exist.
var ErrUnknown = errors.New("streamwatch: no such platform in Config.Sources")

// SetQuery gives a platform a query.
func (s *Set) SetQuery(ctx context.Context, platform string, sub detect.QuerySubscription) error {
	p := s.Named(platform)
	if p == nil {
		return fmt.Errorf("%w: %q", ErrUnknown, platform)
	}
	return p.Detector.SetQuery(ctx, sub)
}

// RemoveQuery ends a query subscription wherever it is.
func (s *Set) RemoveQuery(ctx context.Context, sourceID string) error {
	return s.each(func(p *Platform) error { return p.Detector.RemoveQuery(ctx, sourceID) })
}

// QueryReadUntil is detect.Detector.QueryReadUntil of the platform that has the subscription.
func (s *Set) QueryReadUntil(ctx context.Context, sourceID string) (until time.Time, err error) {
	err = s.each(func(p *Platform) error {
		at, err := p.Detector.QueryReadUntil(ctx, sourceID)
		if !at.IsZero() {
			until = at
		}
		return err
	})
	return until, err
}

// Query is detect.Detector.Query of the first platform that has the query.
func (s *Set) Query(ctx context.Context, text string) (st detect.QueryStatus, ok bool, err error) {
	for i := range s.list {
		if st, ok, err = s.list[i].Detector.Query(ctx, text); ok || err != nil {
			return st, ok, err
		}
	}
	return st, false, nil
}

// Run runs all detectors, and returns when all have ended.
func (s *Set) Run(ctx context.Context) error {
	var running sync.WaitGroup
	errs := make([]error, len(s.list))
	for i := range s.list {
		running.Go(func() { errs[i] = s.list[i].Detector.Run(ctx) })
	}
	running.Wait()
	return errors.Join(errs...)
}

// Stop stops all detectors.
func (s *Set) Stop() {
	for i := range s.list {
		s.list[i].Detector.Stop()
	}
}

// named reports whether some platform has a name.
func (s *Set) named() bool { return len(s.list) > 1 || s.list[0].Name != "" }

// Stats returns the statistics of the first platform, and those of each by name, nil if no
// platform has a name.
func (s *Set) Stats() (first detect.Stats, named map[string]detect.Stats) {
	for i := range s.list {
		st := s.list[i].Detector.Stats()
		if i == 0 {
			first = st
		}
		if s.named() {
			if named == nil {
				named = make(map[string]detect.Stats, len(s.list))
			}
			named[s.list[i].Name] = st
		}
	}
	return first, named
}
