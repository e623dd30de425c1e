package platforms

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
)

// SetParts calls SetParts of all detectors.
func (s *Set) SetParts(ctx context.Context, own fleet.Set) error {
	return eachDetector(s, func(d *detect.Detector) error { return d.SetParts(ctx, own) })
}

// Lose calls Lose of all detectors.
func (s *Set) Lose(ctx context.Context) error {
	return eachDetector(s, func(d *detect.Detector) error { return d.Lose(ctx) })
}

// eachDetector calls fn for all detectors concurrently, and returns their errors joined.
func eachDetector(s *Set, fn func(*detect.Detector) error) error {
	var calls sync.WaitGroup
	errs := make([]error, len(s.list))
	for i := range s.list {
		calls.Go(func() { errs[i] = fn(s.list[i].Detector) })
	}
	calls.Wait()
	return errors.Join(errs...)
}

// Part returns the part that an account belongs to.
func (s *Set) Part(account string) fleet.Part {
	p, name := s.Split(account)
	return p.Detector.Part(name)
}

// QueryParts returns the parts that a query needs: the part of its search, then the parts of its
// authors' timelines. It returns nil for a nil platform.
func (p *Platform) QueryParts(sub detect.QuerySubscription) (parts []fleet.Part) {
	if p == nil {
		return nil
	}
	parts = append(parts, p.Detector.PartOfQuery(sub.Query))
	for _, name := range sub.Authors {
		parts = append(parts, p.Detector.Part(name))
	}
	return parts
}

// Hold calls Hold of all detectors.
func (s *Set) Hold(hold bool) {
	for i := range s.list {
		s.list[i].Detector.Hold(hold)
	}
}

// Budget is a number of calls a second that the nodes of a fleet share.
type Budget struct {
	Rate     float64 // calls a second, for all nodes together
	Demand   float64 // of this node: see detect.Detector.Demand; 0 if it is not known
	Accounts float64 // number of accounts that Demand is for
}

// probes is the suffix in the name of a platform's budget for probes.
const probes = "/probes"

// Budgets returns the budget of each platform under its name, and the budget of its probes under
// the name with "/probes". It leaves out budgets without a limit.
func (s *Set) Budgets() map[string]Budget {
	all := map[string]Budget{}
	for i := range s.list {
		p := &s.list[i]
		calls, ofProbes := p.Detector.Rates()
		if calls > 0 {
			demand, accounts := p.Detector.Demand()
			all[p.Name] = Budget{Rate: calls, Demand: demand, Accounts: float64(accounts)}
		}
		if ofProbes > 0 {
			all[p.Name+probes] = Budget{Rate: ofProbes, Demand: float64(p.Detector.Stats().Targets)}
		}
	}
	return all
}

// SetRates sets the calls a second of budgets. rates has the names of Budgets. Budgets without an
// entry in rates do not change.
func (s *Set) SetRates(rates map[string]float64) {
	for i := range s.list {
		p := &s.list[i]
		calls, ofProbes := p.Detector.Rates()
		if rate, ok := rates[p.Name]; ok && calls > 0 {
			p.Detector.SetRate(rate)
		}
		if rate, ok := rates[p.Name+probes]; ok && ofProbes > 0 {
			p.Detector.SetProbeRate(rate)
		}
	}
}

// CloseBucket closes a rate-limit bucket of a platform: see detect.Detector.CloseBucket. It does
// nothing for an unknown platform.
func (s *Set) CloseBucket(platform, bucket string, until time.Time) {
	if p := s.Named(platform); p != nil {
		p.Detector.CloseBucket(bucket, until)
	}
}
