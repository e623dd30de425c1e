package enginehttp

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/monitor"
)

// accountRecord is the account of the key's owner. There is only one balance: the credits of a
// subscription are ordinary top-ups, and subscription_credits_balance is always 0.
type accountRecord struct {
	CreditsBalance             int64  `json:"credits_balance"`
	SubscriptionCreditsBalance int64  `json:"subscription_credits_balance"`
	TotalCreditsBalance        int64  `json:"total_credits_balance"`
	Tier                       string `json:"tier"`
	RateLimitPerMinute         int    `json:"rate_limit_per_minute"`
}

// account returns the available credits. The balance is without the price of this request, which is
// already reserved.
func (h *Handler) account(c *call) (reply, error) {
	out := accountRecord{Tier: c.who.Tier, RateLimitPerMinute: h.rateOf(c.who)}
	if h.opts.Ledger != nil {
		b, err := h.opts.Ledger.Balance(c.Context(), c.who.Owner)
		if err != nil {
			return reply{}, err
		}
		out.CreditsBalance = wholeCredits(b.Available)
		out.TotalCreditsBalance = out.CreditsBalance
	}
	return reply{value: out}, nil
}

// billingRecord is an entry of the billing log. Amounts are not rounded.
type billingRecord struct {
	ID              string       `json:"id"`
	Kind            billing.Kind `json:"kind"`
	MonitorID       *string      `json:"monitor_id,omitempty"`
	MonitorName     *string      `json:"monitor_name,omitempty"`
	RuleID          *string      `json:"rule_id,omitempty"`
	RuleTag         *string      `json:"rule_tag,omitempty"`
	Endpoint        *string      `json:"endpoint,omitempty"`
	BilledAt        string       `json:"billed_at"`
	NumAccounts     int          `json:"num_accounts"`
	CreditsDeducted credits      `json:"credits_deducted"` // negative for a top-up
	BalanceAfter    credits      `json:"balance_after"`
	TierLabel       string       `json:"tier_label"`
	RateApplied     credits      `json:"rate_applied"` // per account and day
}

func (h *Handler) billingLogs(c *call) (reply, error) {
	p := c.params()
	_, source := p.source()
	q := billing.EntryQuery{Owner: c.who.Owner, SourceID: source, Asc: p.oneOf("sort", "desc", "asc") == "asc"}
	q.Since, q.Until = p.window()
	cs := h.cursors(c, "billing_logs", source, instant(q.Since), instant(q.Until), strconv.FormatBool(q.Asc))
	out, list, err := readLog[billingRecord](p, cs, func(page, size int, cursor string) ([]billing.Entry, int, string, error) {
		if h.opts.Ledger == nil {
			return nil, 0, "", nil
		}
		q.Page, q.PageSize, q.Cursor = page, size, cursor
		got, err := h.opts.Ledger.Entries(c.Context(), q)
		return got.Entries, got.Total, got.Next, err
	})
	if err != nil {
		return reply{}, err
	}
	out.Logs = []billingRecord{}
	for i := range list {
		e := &list[i]
		r := billingRecord{ID: e.ID, Kind: e.Kind, Endpoint: nullable(e.Endpoint), BilledAt: timeText(e.At), NumAccounts: e.NumAccounts,
			CreditsDeducted: credits(-e.Amount), BalanceAfter: credits(e.Balance), TierLabel: e.TierLabel, RateApplied: credits(e.Rate)}
		switch e.Kind {
		case billing.KindMonitor:
			r.MonitorID, r.MonitorName = &e.SourceID, &e.SourceName
		case billing.KindRule:
			r.RuleID, r.RuleTag = &e.SourceID, &e.SourceName
		}
		out.Logs = append(out.Logs, r)
	}
	return reply{value: out}, nil
}

// healthKept is how long a result is reused: anybody may ask, and must not load the store.
const healthKept = time.Second

// health is the result of the last check of the store.
type health struct {
	mu    sync.Mutex
	until time.Time
	err   error
}

func (s *health) check(ctx context.Context, ask func(context.Context) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.until) {
		return s.err
	}
	// Do not use the request's context: if this client disconnects, others must not see an error.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	s.err = ask(ctx)
	s.until = time.Now().Add(healthKept)
	return s.err
}

type healthRecord struct {
	Status string `json:"status"`
}

func (h *Handler) healthy(c *call) (reply, error) {
	err := h.health.check(c.Context(), func(ctx context.Context) error {
		if _, err := h.engine.Monitors().Page(ctx, monitor.Query{PageSize: 1}); err != nil {
			return err
		}
		return h.engine.Writable(ctx)
	})
	return reply{value: healthRecord{Status: "ok"}}, err
}
