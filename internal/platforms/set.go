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

// Platform is one platform of a Set.
type Platform struct {
	Name     string // "" for the platform of Config.Fetcher
	Detector *detect.Detector
	Pace     detect.Pace
	// MinInterval is that of the detector.
	MinInterval time.Duration
	// CheckAccount returns an error for a name that no account can have. A nil CheckAccount
	// accepts all names.
	CheckAccount func(name string) error
}

// Set has the platforms of a program. Its methods are those of a detect.Detector, for all
// platforms together. They are safe for concurrent use.
type Set struct {
	list   []Platform // account names without a platform belong to the first
	byName map[string]*Platform
}

// New returns a Set of at least one platform. Their names must differ.
func New(list []Platform) *Set {
	s := &Set{list: list, byName: make(map[string]*Platform, len(list))}
	for i := range list {
		s.byName[list[i].Name] = &list[i]
	}
	return s
}

// Split returns the platform of an account and its name there.
func (s *Set) Split(account string) (*Platform, string) {
	p, name, _ := s.Find(account)
	return p, name
}

// Find is Split that also reports whether the account is written with the platform's name.
func (s *Set) Find(account string) (p *Platform, name string, written bool) {
	if name, rest, ok := strings.Cut(strings.TrimPrefix(account, "@"), ":"); ok && name != "" {
		if p := s.byName[strings.ToLower(name)]; p != nil {
			return p, rest, true
		}
	}
	return &s.list[0], account, false
}

// Named returns the platform with the given name, or nil if there is none. For "" it returns the
// first platform.
func (s *Set) Named(name string) *Platform {
	if name == "" {
		return &s.list[0]
	}
	return s.byName[name]
}

// AccountTarget returns the target of an account's cursor in the journal. It begins with the
// platform's prefix.
func (s *Set) AccountTarget(account string) string {
	p, name := s.Split(account)
	return p.prefix() + detect.AccountTarget(name)
}

// QueryTargets returns the targets of a query's cursors: the target of its search, and the
// targets of its authors' timelines. It returns nil for an unknown platform.
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

// prefix returns the prefix of the targets of a platform's cursors.
func (p *Platform) prefix() string {
	if p.Name == "" {
		return ""
	}
	return p.Name + "/"
}

// Full returns the name of an account in the form that users write, with the name of the
// platform.
func (p *Platform) Full(account string) string {
	if p.Name == "" {
		return account
	}
	return p.Name + ":" + account
}

// Set passes a subscription to the platforms of its accounts, and removes it from the others.
func (s *Set) Set(ctx context.Context, sub detect.Subscription) error {
	parts := s.parts(sub)
	return s.each(func(p *Platform) error {
		if part, ok := parts[p]; ok {
			return p.Detector.Set(ctx, part)
		}
		return p.Detector.Remove(ctx, sub.Source.ID)
	})
}

// parts divides a subscription among the platforms of its accounts. A subscription without
// accounts belongs to the first platform.
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

// interval returns the interval of a monitor for its accounts on this platform. If a budget sets
// the pace, the result is at least detect.MinBound. A monitor can have a shorter interval if it
// also has accounts on a platform without a budget, or if this platform had none before.
func (p *Platform) interval(asked time.Duration) time.Duration {
	if p.Pace != detect.PaceInterval && asked > 0 {
		return max(asked, detect.MinBound)
	}
	return asked
}

// MinInterval returns the least of the shortest intervals of the accounts' platforms.
func (s *Set) MinInterval(accounts []monitor.Account) (least time.Duration) {
	for i, a := range accounts {
		p, _ := s.Split(a.Username)
		if i == 0 || p.MinInterval < least {
			least = p.MinInterval
		}
	}
	return least
}

// Remove removes a subscription from all platforms.
func (s *Set) Remove(ctx context.Context, sourceID string) error {
	return s.each(func(p *Platform) error { return p.Detector.Remove(ctx, sourceID) })
}

// each calls fn for each platform until fn returns an error, which each returns.
func (s *Set) each(fn func(*Platform) error) error {
	for i := range s.list {
		if err := fn(&s.list[i]); err != nil {
			return err
		}
	}
	return nil
}

// ReadUntil calls detect.Detector.ReadUntil of all platforms. The keys of the result are the
// monitor.Key of the accounts' full names. An account of the first platform also has an entry for
// its name without the platform.
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

// Account calls detect.Detector.Account of the account's platform. The result has the full name
// of the account.
func (s *Set) Account(ctx context.Context, username string) (st detect.AccountStatus, ok bool, err error) {
	p, name := s.Split(username)
	st, ok, err = p.Detector.Account(ctx, name)
	if ok {
		st.Username = p.Full(st.Username)
	}
	return st, ok, err
}

// AccountOf is Account restricted to one owner: see detect.Detector.AccountOf.
func (s *Set) AccountOf(ctx context.Context, owner, username string) (st detect.AccountStatus, ok bool, err error) {
	p, name := s.Split(username)
	st, ok, err = p.Detector.AccountOf(ctx, owner, name)
	if ok {
		st.Username = p.Full(st.Username)
	}
	return st, ok, err
}

// Worst returns the worst accounts among all platforms, with their full names: see
// detect.Detector.Worst.
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

// Spend takes a call from the budget of a platform: see detect.Detector.Spend. The platform ""
// is the first.
func (s *Set) Spend(ctx context.Context, platform string) error {
	p := s.Named(platform)
	if p == nil {
		return fmt.Errorf("streamwatch: platform %q is not allowed: want a name of Config.Sources", platform)
	}
	return p.Detector.Spend(ctx)
}

// ErrUnknown is the error of SetQuery for a platform that does not exist.
var ErrUnknown = errors.New("streamwatch: no such platform in Config.Sources")

// SetQuery passes a query subscription to a platform.
func (s *Set) SetQuery(ctx context.Context, platform string, sub detect.QuerySubscription) error {
	p := s.Named(platform)
	if p == nil {
		return fmt.Errorf("%w: %q", ErrUnknown, platform)
	}
	return p.Detector.SetQuery(ctx, sub)
}

// RemoveQuery removes a query subscription from all platforms.
func (s *Set) RemoveQuery(ctx context.Context, sourceID string) error {
	return s.each(func(p *Platform) error { return p.Detector.RemoveQuery(ctx, sourceID) })
}

// QueryReadUntil calls detect.Detector.QueryReadUntil of the platform that has the subscription.
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

// Query returns the result of detect.Detector.Query of the first platform that has the query.
func (s *Set) Query(ctx context.Context, text string) (st detect.QueryStatus, ok bool, err error) {
	for i := range s.list {
		if st, ok, err = s.list[i].Detector.Query(ctx, text); ok || err != nil {
			return st, ok, err
		}
	}
	return st, false, nil
}

// Run runs all detectors, and returns when all of them have ended.
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

// named reports whether any platform has a name.
func (s *Set) named() bool { return len(s.list) > 1 || s.list[0].Name != "" }

// Stats returns the statistics of the first platform. named has the statistics of every platform
// by name; it is nil if no platform has a name.
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
