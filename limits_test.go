package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// wantsQuota fails unless err names the quota and its figures.
func wantsQuota(t *testing.T, err error, want streamwatch.QuotaError) {
	t.Helper()
	var got *streamwatch.QuotaError
	if !errors.As(err, &got) || *got != want {
		t.Errorf("error %v, want %+v", err, want)
	}
}

// What is deleted makes room, what is paused does not; accounts count wherever
// they are watched; a monitor whose webhook is one too many is not made.
func TestQuotasCountWhatIsThere(t *testing.T) {
	e := newEngine(t, streamwatch.Config{
		Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}),
		Quotas:  streamwatch.Quotas{Monitors: 3, Accounts: 5, Endpoints: 1, Rules: 1},
	})
	ctx := t.Context()
	m := create(t, e, monitor.CreateRequest{Owner: "ann", Name: "a", Usernames: []string{"nasa", "esa"}, WebhookURL: "https://one.example.com/"})
	if _, err := e.Monitors().Pause(ctx, "ann", m.ID); err != nil {
		t.Fatal(err)
	}
	create(t, e, monitor.CreateRequest{Owner: "ann", Name: "b", Usernames: []string{"nasa", "esa"}})
	try := func(q monitor.CreateRequest) error {
		q.Owner = "ann"
		_, err := e.Monitors().Create(ctx, q)
		return err
	}
	wantsQuota(t, try(monitor.CreateRequest{Name: "c", Usernames: []string{"nasa", "jaxa"}}),
		streamwatch.QuotaError{Quota: "accounts", Limit: 5, Have: 4, Asked: 2})
	more := []string{"nasa", "esa", "jaxa", "isro"}
	_, err := e.Monitors().Update(ctx, "ann", m.ID, monitor.UpdateRequest{Usernames: &more})
	wantsQuota(t, err, streamwatch.QuotaError{Quota: "accounts", Limit: 5, Have: 4, Asked: 2})
	more = more[:3]
	if _, err := e.Monitors().Update(ctx, "ann", m.ID, monitor.UpdateRequest{Usernames: &more}); err != nil {
		t.Errorf("as many accounts as are allowed: %v", err)
	}
	if err := e.Monitors().Delete(ctx, "ann", m.ID); err != nil {
		t.Fatal(err)
	}
	c := create(t, e, monitor.CreateRequest{Owner: "ann", Name: "c", Usernames: []string{"nasa"}, WebhookURL: "https://one.example.com/"})
	wantsQuota(t, try(monitor.CreateRequest{Name: "d", Usernames: []string{"nasa"}, WebhookURL: "https://two.example.com/"}),
		streamwatch.QuotaError{Quota: "endpoints", Limit: 1, Have: 1, Asked: 1})
	create(t, e, monitor.CreateRequest{Owner: "ann", Name: "d", Usernames: []string{"nasa"}}) // nothing was left behind
	wantsQuota(t, try(monitor.CreateRequest{Name: "e", Usernames: []string{"nasa"}}),
		streamwatch.QuotaError{Quota: "monitors", Limit: 3, Have: 3, Asked: 1})
	if _, err := e.Monitors().Resume(ctx, "ann", c.ID); err != nil {
		t.Errorf("a change beside a full quota: %v", err)
	}
	if err := e.SetQuotas(streamwatch.Quotas{Monitors: -1}); err == nil || !strings.Contains(err.Error(), "Quotas.Monitors -1 is not allowed") {
		t.Errorf("a quota below 0: %v", err)
	}
	if err := e.SetQuotas(streamwatch.Quotas{Monitors: 2, Rules: 1, Endpoints: 1}); err != nil {
		t.Fatal(err)
	}
	wantsQuota(t, try(monitor.CreateRequest{Name: "e", Usernames: []string{"nasa"}}),
		streamwatch.QuotaError{Quota: "monitors", Limit: 2, Have: 3, Asked: 1})
	r := rule.CreateRequest{Owner: "ann", Tag: "one", Query: "from:nasa", Interval: time.Minute}
	createRule(t, e, r)
	r.Tag = "two"
	_, err = e.Rules().Create(ctx, r)
	wantsQuota(t, err, streamwatch.QuotaError{Quota: "rules", Limit: 1, Have: 1, Asked: 1})
	_, err = e.Endpoints().Create(ctx, endpoints.NewEndpoint{Source: deliver.Source{Kind: deliver.SourceMonitor, ID: c.ID, Owner: "ann"}, URL: "https://two.example.com/"})
	wantsQuota(t, err, streamwatch.QuotaError{Quota: "endpoints", Limit: 1, Have: 1, Asked: 1})
	if text := (&streamwatch.QuotaError{Quota: "accounts", Limit: 5, Have: 4, Asked: 2}).Error(); !strings.Contains(text, "quota of accounts exceeded: 4 there and 2 more asked for, want at most 5") {
		t.Error(text)
	}
}

// credit is a ledger entry that gives the owner credits.
func credit(t *testing.T, l billing.Ledger, id string, credits billing.Credits) {
	t.Helper()
	ok(t, l.Append(t.Context(), billing.Entry{ID: id, Owner: owner, Kind: billing.KindTopUp, Amount: credits * billing.Credit}))
}

// hourly prices a stream so that an hour of it is a credit.
type hourly struct{ billing.Presets }

func (hourly) Monitor(accounts int) billing.Price {
	return billing.Price{PerDay: 24 * billing.Credit * billing.Credits(accounts)}
}

func (hourly) Rule(interval time.Duration) billing.Price {
	if interval < time.Hour {
		return billing.Price{PerDay: 48 * billing.Credit}
	}
	return billing.Price{PerDay: 24 * billing.Credit}
}

// A stream runs until its credits do not cover the next hour, pauses, and after a top-up delivers
// what was published meanwhile.
func TestStreamsAreCharged(t *testing.T) {
	eachStream(t, func(t *testing.T, of stream) {
		p, store := platformOf("nasa"), memory.New(memory.Options{})
		var in inbox
		told := 0
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store, OnEvent: in.handle, Pricing: minutely{}, Billing: &billing.MeterConfig{
			Thresholds: []billing.Credits{75 * billing.Credit}, OnThreshold: func(billing.Threshold) { told++ }}})
		credit(t, store.Ports().Ledger, "invoice 1", 80) // 20 minutes, and the hour that stays
		id := of.make(t, e, "s", "nasa", "")
		stop := startEngine(t, e)
		post := func(text, status string) {
			t.Helper()
			p.Post("nasa", text)
			pass(time.Minute)
			if got := of.does(t, e, id, "get"); got.status != status {
				t.Errorf("%s: it is %s, want %s", text, got.status, status)
			}
		}
		pass(10 * time.Minute)
		post("moon 1", "active")
		pass(20 * time.Minute)
		post("moon 2", "paused insufficient_credits")
		in.wants(t, "while it is paused", id, "moon 1")
		if err := e.Covers(t.Context(), owner, e.Price(monitor.Monitor{})); !errors.Is(err, billing.ErrInsufficient) || told != 1 {
			t.Errorf("Covers: %v; thresholds were told %d times", err, told)
		}
		credit(t, store.Ports().Ledger, "invoice 2", 1000)
		pass(3 * time.Minute)
		post("moon 3", "active")
		if n := e.Stats().Billing.Running; n != 1 {
			t.Errorf("%d streams are charged, want 1", n)
		}
		in.wants(t, "after a top-up", id, "moon 1", "moon 2", "moon 3")
		stop()
		page, err := store.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: owner, SourceID: id})
		if err != nil || page.Total < 20 || page.Total > 28 || page.Entries[0].SourceName != "s" {
			t.Errorf("%d charges, %v; want one for each minute that it ran", page.Total, err)
		}
		pass(time.Hour)
		if after, err := store.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: owner, SourceID: id}); err != nil || after.Total != page.Total {
			t.Errorf("an engine that was shut down charges: %d, %v", after.Total, err)
		}
	})
}

// minutely prices a stream so that a minute of it is a credit.
type minutely struct{ billing.Presets }

func (minutely) Monitor(int) billing.Price { return billing.Price{PerDay: 1440 * billing.Credit} }

func (minutely) Rule(time.Duration) billing.Price {
	return billing.Price{PerDay: 1440 * billing.Credit}
}

// Every way in which a stream begins to cost more is asked about beside what runs.
func TestWhatIsAskedForCover(t *testing.T) {
	type ids struct{ monitor, rule string }
	accounts, name, shorter, longer := []string{"nasa", "esa"}, "other", time.Minute, 2*time.Hour
	for _, row := range []struct {
		name    string
		credits billing.Credits // that the change needs, beside a monitor and a rule; 0 for none
		paused  bool            // both, before
		do      func(ctx context.Context, e *streamwatch.Engine, of ids) error
	}{
		{"a monitor more", 3, false, func(ctx context.Context, e *streamwatch.Engine, _ ids) error {
			return second(aMonitor.create(ctx, e, "more", "nasa", ""))
		}},
		{"a rule more", 4, false, func(ctx context.Context, e *streamwatch.Engine, _ ids) error {
			return second(aRule.create(ctx, e, "more", "", ""))
		}},
		{"an account more", 3, false, func(ctx context.Context, e *streamwatch.Engine, of ids) error {
			return second(e.Monitors().Update(ctx, owner, of.monitor, monitor.UpdateRequest{Usernames: &accounts}))
		}},
		{"a shorter interval", 3, false, func(ctx context.Context, e *streamwatch.Engine, of ids) error {
			return second(e.Rules().Update(ctx, owner, of.rule, rule.UpdateRequest{Interval: &shorter}))
		}},
		{"a longer interval", 0, false, func(ctx context.Context, e *streamwatch.Engine, of ids) error {
			return second(e.Rules().Update(ctx, owner, of.rule, rule.UpdateRequest{Interval: &longer}))
		}},
		{"another name", 0, false, func(ctx context.Context, e *streamwatch.Engine, of ids) error {
			return second(e.Monitors().Update(ctx, owner, of.monitor, monitor.UpdateRequest{Name: &name}))
		}},
		{"a pause", 0, false, func(ctx context.Context, e *streamwatch.Engine, of ids) error {
			return second(aMonitor.do(ctx, e, of.monitor, "pause"))
		}},
		{"a paused monitor goes on", 1, true, func(ctx context.Context, e *streamwatch.Engine, of ids) error {
			return second(aMonitor.do(ctx, e, of.monitor, "resume"))
		}},
		{"a paused rule goes on", 1, true, func(ctx context.Context, e *streamwatch.Engine, of ids) error {
			return second(aRule.do(ctx, e, of.rule, "resume"))
		}},
		{"suspended ones go on", 2, false, func(ctx context.Context, e *streamwatch.Engine, of ids) error {
			return errors.Join(second(aMonitor.do(ctx, e, of.monitor, "suspend")), second(aRule.do(ctx, e, of.rule, "suspend")),
				second(aMonitor.do(ctx, e, of.monitor, "restore")), second(aRule.do(ctx, e, of.rule, "restore")))
		}},
	} {
		for _, missing := range []billing.Credits{0, 1} {
			t.Run(fmt.Sprintf("%s, %d missing", row.name, missing), func(t *testing.T) {
				store := memory.New(memory.Options{})
				e := newEngine(t, streamwatch.Config{Fetcher: platformOf("nasa", "esa"), Store: store, Pricing: hourly{}, Billing: &billing.MeterConfig{}})
				credit(t, store.Ports().Ledger, "invoice", 2)
				of := ids{aMonitor.make(t, e, "m", "nasa", ""), createRule(t, e, rule.CreateRequest{Owner: owner, Tag: "r", Query: "from:nasa", Interval: time.Hour}).ID}
				if row.paused {
					aMonitor.does(t, e, of.monitor, "pause")
					aRule.does(t, e, of.rule, "pause")
				}
				change := billing.Entry{ID: "leaves", Owner: owner, Amount: (row.credits - 2) * billing.Credit}
				if row.credits > 0 {
					change.Amount -= missing
				}
				ok(t, store.Ports().Ledger.Append(t.Context(), change))
				err := row.do(t.Context(), e, of)
				if refused := errors.Is(err, billing.ErrInsufficient); refused != (missing > 0 && row.credits > 0) || err != nil && !refused {
					t.Errorf("error = %v", err)
				}
			})
		}
	}
	t.Run("without billing", func(t *testing.T) {
		e := newEngine(t, streamwatch.Config{Fetcher: platformOf("nasa"), Pricing: hourly{}})
		aMonitor.make(t, e, "m", "nasa", "")
		ok(t, e.Covers(t.Context(), owner, e.Price(monitor.Monitor{Accounts: make([]monitor.Account, 3)})))
		if got := e.Price(monitor.Monitor{Accounts: make([]monitor.Account, 3)}).PerDay; got != 72*billing.Credit {
			t.Errorf("price %d, want that of Config.Pricing", got)
		}
		if got := e.PriceRule(rule.Rule{Interval: time.Minute}).PerDay; got != 48*billing.Credit {
			t.Errorf("price %d of a rule, want that of Config.Pricing", got)
		}
	})
}
