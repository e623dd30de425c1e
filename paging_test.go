package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// shrinking is a store from which, when a first page of monitors or rules has been read, the
// oldest record is deleted, once, as another node may.
type shrinking struct {
	*memory.Store
	left *int
}

func (s shrinking) Monitors() monitor.Store { return shrinkingMonitors{s.Store.Monitors(), s} }
func (s shrinking) Rules() rule.Store       { return shrinkingRules{s.Store.Rules(), s} }

type shrinkingMonitors struct {
	monitor.Store
	s shrinking
}

func (m shrinkingMonitors) List(ctx context.Context, q monitor.Query) (monitor.Page, error) {
	got, err := m.Store.List(ctx, q)
	if err == nil && q.Page == 1 && q.PageSize > 1 && *m.s.left > 0 && len(got.Monitors) > 0 {
		*m.s.left--
		err = m.Store.Delete(ctx, q.Owner, got.Monitors[0].ID)
	}
	return got, err
}

type shrinkingRules struct {
	rule.Store
	s shrinking
}

func (m shrinkingRules) List(ctx context.Context, q rule.Query) (rule.Page, error) {
	got, err := m.Store.List(ctx, q)
	if err == nil && q.Page == 1 && q.PageSize > 1 && *m.s.left > 0 && len(got.Rules) > 0 {
		*m.s.left--
		err = m.Store.Delete(ctx, q.Owner, got.Rules[0].ID)
	}
	return got, err
}

// byUse is a price list: a credit a minute for each account, and for each poll of a rule.
type byUse struct{ billing.Presets }

func (byUse) Monitor(accounts int) billing.Price {
	return billing.Price{PerDay: 1440 * billing.Credits(accounts) * billing.Credit}
}

func (byUse) Rule(every time.Duration) billing.Price {
	return billing.Price{PerDay: 1440 * billing.Credits(time.Minute/every) * billing.Credit}
}

// What another node deletes while an owner's monitors and rules are counted, page by page,
// hides none of the others.
func TestCountsBesideDeletions(t *testing.T) {
	now := time.Now()
	monitors := func(t *testing.T, s *memory.Store, accounts int) { // of the last one of 101
		for i := range 101 {
			m := monitor.Monitor{ID: fmt.Sprint("mon_", i), Owner: "acme", Name: fmt.Sprint(i), Status: monitor.Active, CreatedAt: now, UpdatedAt: now, Version: 1}
			of := enginetest.AccountNames(1)
			if i == 100 {
				of = enginetest.AccountNames(accounts)
			}
			for _, name := range of {
				m.Accounts = append(m.Accounts, monitor.Account{Username: name})
			}
			if err := s.Monitors().Create(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
	}
	add := func(e *streamwatch.Engine) error {
		_, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Owner: "acme", Name: "more", Usernames: enginetest.AccountNames(2)})
		return err
	}
	engine := func(t *testing.T, s *memory.Store, cfg streamwatch.Config) *streamwatch.Engine {
		left := 1
		cfg.Fetcher, cfg.Store = enginetest.NewPlatform(enginetest.PlatformConfig{}), shrinking{s, &left}
		return newEngine(t, cfg)
	}
	t.Run("accounts", func(t *testing.T) {
		s := memory.New(memory.Options{})
		monitors(t, s, 100)
		e := engine(t, s, streamwatch.Config{Quotas: streamwatch.Quotas{Accounts: 200}})
		wantsQuota(t, add(e), streamwatch.QuotaError{Quota: "accounts", Limit: 200, Have: 199, Asked: 2})
	})
	t.Run("credits for monitors", func(t *testing.T) {
		s := memory.New(memory.Options{})
		monitors(t, s, 100)
		credit(t, s.Ledger(), "invoice", 150*60)
		e := engine(t, s, streamwatch.Config{Billing: &billing.MeterConfig{}, Pricing: byUse{}})
		if err := add(e); !errors.Is(err, billing.ErrInsufficient) {
			t.Errorf("%v, want billing.ErrInsufficient: the last one costs as much as 100", err)
		}
	})
	t.Run("credits for rules", func(t *testing.T) {
		s := memory.New(memory.Options{})
		for i := range 101 {
			every := time.Minute
			if i == 100 {
				every /= 100
			}
			r := rule.Rule{ID: fmt.Sprint("rul_", i), Owner: "acme", Tag: fmt.Sprint(i), Query: "from:nasa", Interval: every, MaxResults: 20,
				Status: rule.Active, Since: now, CreatedAt: now, UpdatedAt: now, Version: 1}
			if err := s.Rules().Create(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		credit(t, s.Ledger(), "invoice", 150*60)
		e := engine(t, s, streamwatch.Config{Billing: &billing.MeterConfig{}, Pricing: byUse{}})
		if err := add(e); !errors.Is(err, billing.ErrInsufficient) {
			t.Errorf("%v, want billing.ErrInsufficient: the last one costs as much as 100", err)
		}
	})
}
