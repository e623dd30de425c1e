package streamwatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/platforms"
	"github.com/streamwatch/streamwatch/latency"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// Stats has the counters of an engine since New.
type Stats struct {
	// Detect has the counters of Config.Fetcher. Without Config.Fetcher it has those of the first
	// of Config.Sources.
	Detect detect.Stats
	// Sources has the counters of each source by name; the name of Config.Fetcher is "". It is nil
	// without Config.Sources.
	Sources map[string]detect.Stats
	Deliver dispatch.Stats
	// WebSocket is zero without Config.WebSocket, Billing without Config.Billing, Fleet
	// without Config.Fleet.
	WebSocket wshub.Stats
	Billing   billing.Stats
	Fleet     FleetStats
}

// Causes divides the mean time from publication to acknowledgement into its causes, in the order of
// the flow. First come the causes of latency.Parts for the accounts and queries of all sources,
// then the wait for the first attempt ("handover") and the successful attempts ("send").
func (s *Stats) Causes() []latency.Cause {
	parts := s.Detect.Latency.Add(s.Detect.Queries.Latency)
	if s.Sources != nil {
		parts = latency.Parts{}
		for _, d := range s.Sources {
			parts = parts.Add(d.Latency).Add(d.Queries.Latency)
		}
	}
	return latency.Shares(append(parts.Causes(),
		latency.Cause{Name: "handover", Mean: s.Deliver.Handover.Mean()}, latency.Cause{Name: "send", Mean: s.Deliver.Send.Mean()}))
}

// Stats reads the counters.
func (e *Engine) Stats() Stats {
	st := Stats{Deliver: e.dispatcher.Stats(), Fleet: e.fleet.stats()}
	st.Detect, st.Sources = e.platforms.Stats()
	if e.hub != nil {
		st.WebSocket = e.hub.Stats()
	}
	if e.meter != nil {
		st.Billing = e.meter.Stats()
	}
	return st
}

// Plan is a forecast of latency, calls and cost for the active monitors and rules.
type Plan struct {
	detect.Plans
	// Sources has the plan of each source by name; the name of Config.Fetcher is "". It is nil
	// without Config.Sources. Plans combines all sources: its Mean is the mean over all accounts,
	// and with several sources its Other is empty.
	Sources map[string]detect.Plans
	// CreditsPerDay is the price per day of all active monitors and rules, by Config.Pricing.
	CreditsPerDay billing.Credits
}

// Plan predicts detection latency and upstream calls for the active monitors and rules, and reports
// how each query is polled and why. budgets are other budgets to compare, in calls a second. Each
// is planned as if it set the pace and the monitors' intervals, including default ones, were upper
// limits. While the engine runs, the plan uses the rates at which the accounts have posted; before
// Start it assumes one post a day for each. After Shutdown it returns ErrNotRunning.
func (e *Engine) Plan(ctx context.Context, budgets ...float64) (Plan, error) {
	if e.life.current() == ended {
		return Plan{}, ErrNotRunning
	}
	var plan Plan
	var subs []detect.Subscription
	err := e.monitors.Each(ctx, func(m monitor.Monitor) error {
		if m.Status == monitor.Active {
			plan.CreditsPerDay += e.Price(m).PerDay
			subs = append(subs, detect.ForMonitor(m))
		}
		return nil
	})
	if err != nil {
		return Plan{}, fmt.Errorf("streamwatch: plan: %w", err)
	}
	queries, err := e.planRules(ctx, &plan)
	if err != nil {
		return Plan{}, fmt.Errorf("streamwatch: plan: %w", err)
	}
	var plans platforms.Plans
	if e.life.current() == running {
		plans, err = e.platforms.Plan(ctx, budgets...)
	} else {
		plans, err = e.platforms.PlanFor(subs, queries, budgets...)
	}
	plan.Plans, plan.Sources = plans.Plans, plans.ByName
	if err != nil {
		return Plan{}, fmt.Errorf("streamwatch: %w", notRunning(err))
	}
	return plan, nil
}

// planRules adds the price of the active rules to plan, and returns the queries of those
// that can run.
func (e *Engine) planRules(ctx context.Context, plan *Plan) (subs []platforms.Query, err error) {
	err = e.rules.Each(ctx, func(r rule.Rule) error {
		if r.Status != rule.Active {
			return nil
		}
		plan.CreditsPerDay += e.PriceRule(r).PerDay
		if sub, err := e.searches.subscription(r); err == nil {
			subs = append(subs, platforms.Query{Platform: r.Platform, QuerySubscription: sub})
		}
		return nil
	})
	return subs, err
}

// Account returns the state of an account. The state shows whether the account can be read. ok is
// false if no active monitor tracks the account. The error is ErrNotRunning or ctx's error.
func (e *Engine) Account(ctx context.Context, username string) (st detect.AccountStatus, ok bool, err error) {
	return e.account(username, func() (detect.AccountStatus, bool, error) { return e.platforms.Account(ctx, username) })
}

// AccountOf is Account for one owner. ok is false if no active monitor or rule of the owner tracks
// the account. Sources and Interval count only the owner's monitors and rules. Errors name no hosts
// of the service, and Node is empty.
func (e *Engine) AccountOf(ctx context.Context, owner, username string) (st detect.AccountStatus, ok bool, err error) {
	st, ok, err = e.account(username, func() (detect.AccountStatus, bool, error) { return e.platforms.AccountOf(ctx, owner, username) })
	forOwner(&st)
	return st, ok, err
}

func (e *Engine) account(username string, ask func() (detect.AccountStatus, bool, error)) (st detect.AccountStatus, ok bool, err error) {
	if e.life.current() != running {
		return detect.AccountStatus{}, false, ErrNotRunning
	}
	st, ok, err = ask()
	if ok && e.fleet != nil {
		st.Node = e.fleet.node.NameOf(e.platforms.Part(username))
	}
	return st, ok, notRunning(err)
}

// maxWorst is the highest detect.WorstQuery.Limit allowed.
const maxWorst = 1000

// WorstAccounts returns the accounts that are worst by the measure q.By, the worst first. It does
// not delay polls. In a fleet it returns only accounts that this node polls. Unless q.All is set,
// errors name no hosts of the service, and Node is empty. WorstAccounts returns ErrNotRunning,
// ctx's error, or an error that names a field of q that is not allowed.
func (e *Engine) WorstAccounts(ctx context.Context, q detect.WorstQuery) ([]detect.AccountStatus, error) {
	switch {
	case q.By > detect.WorstSlow:
		return nil, fmt.Errorf("streamwatch: WorstQuery.By %d is not allowed: want detect.WorstFailing to detect.WorstSlow", q.By)
	case q.Limit < 0 || q.Limit > maxWorst:
		return nil, fmt.Errorf("streamwatch: WorstQuery.Limit %d is not allowed: want 1 to %d, or 0 for 50", q.Limit, maxWorst)
	case e.life.current() != running:
		return nil, ErrNotRunning
	}
	if q.Limit == 0 {
		q.Limit = 50
	}
	worst, err := e.platforms.Worst(ctx, q)
	for i := range worst {
		if !q.All {
			forOwner(&worst[i])
		}
	}
	return worst, notRunning(err)
}

// forOwner removes details that owners must not see: the service's hosts, its nodes, and errors of
// its store.
func forOwner(st *detect.AccountStatus) {
	st.Node = ""
	if st.Err != nil {
		st.Err = ownersError(st.Err)
		st.Error = st.Err.Error()
	}
	for i := range st.Polls {
		if st.Polls[i].Error != "" {
			st.Polls[i].Error = errUnreadable.Error()
		}
	}
}

var errUnreadable = errors.New("the account could not be read")

// ownersError returns publicError(err) if err comes from the platform. For any other error, such as
// one of the store, it returns errUnreadable.
func ownersError(err error) error {
	var status *fetcher.StatusError
	var limit *fetcher.RateLimitError
	var argument *fetcher.ArgumentError
	switch {
	case errors.Is(err, fetcher.ErrNotFound), errors.Is(err, fetcher.ErrProtected), errors.As(err, &status), errors.As(err, &limit), errors.As(err, &argument):
		return publicError(err)
	}
	return errUnreadable
}

// Query returns the state of the query with the given text. Texts with the same
// query.Program.Canonical are one query. ok is false if no active rule has the query. The error is
// ErrNotRunning, ctx's error, or the reason why the text cannot be parsed.
func (e *Engine) Query(ctx context.Context, text string) (st detect.QueryStatus, ok bool, err error) {
	if e.life.current() != running {
		return detect.QueryStatus{}, false, ErrNotRunning
	}
	p, _, err := e.rules.Parse(text)
	if err != nil {
		return detect.QueryStatus{}, false, err
	}
	st, ok, err = e.platforms.Query(ctx, p.Canonical())
	if ok && e.fleet != nil {
		st.Node = e.fleet.node.NameOf(st.Part)
	}
	return st, ok, notRunning(err)
}

// Lane returns the state of an endpoint's deliveries in this process. It returns false if this
// process keeps no such state: another node of a fleet sends to the endpoint, or no delivery waits
// or fails. Lane does not check the endpoint's owner.
func (e *Engine) Lane(endpointID string) (dispatch.LaneStatus, bool) {
	return e.dispatcher.Lane(endpointID)
}

// Lanes returns up to limit lanes of all owners, those in trouble first: see
// dispatch.Dispatcher.Lanes.
func (e *Engine) Lanes(limit int) []dispatch.LaneStatus { return e.dispatcher.Lanes(limit) }
