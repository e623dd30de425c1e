// Credits shows how owners are charged and limited: prices, a balance, quotas, and monitors that rest
// when the credits run out and go on after a top-up.
//
//	go run ./examples/credits
//
// needs no setup, and ends by itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "credits:", err)
		os.Exit(1)
	}
}

// prices are one's own: requests cost what they do by default.
type prices struct{ billing.Presets }

func (prices) Monitor(accounts int) billing.Price {
	perDay := 2400 * billing.Credit // 100 an hour
	return billing.Price{PerAccountPerDay: perDay, PerDay: perDay * billing.Credits(accounts), Tier: "flat"}
}

func run(ctx context.Context, out io.Writer) (err error) {
	store := memory.New(memory.Options{})
	defer store.Close(context.WithoutCancel(ctx))
	engine, err := streamwatch.New(streamwatch.Config{
		Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa"}}),
		Store:   store,
		Pricing: prices{},
		Billing: &billing.MeterConfig{
			Thresholds: []billing.Credits{50 * billing.Credit},
			OnThreshold: func(t billing.Threshold) {
				fmt.Fprintf(out, "%s has %d credits left\n", t.Owner, t.Balance/billing.Credit)
			},
		},
		Quotas: streamwatch.Quotas{Monitors: 1},
	})
	if err != nil {
		return err
	}
	if err := engine.Start(ctx); err != nil {
		return err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, engine.Shutdown(stop))
	}()
	ledger := store.Ports().Ledger
	create := func(name, account string) error {
		_, err := engine.Monitors().Create(ctx, monitor.CreateRequest{Owner: "acme", Name: name, Usernames: []string{account}})
		return err
	}

	if err := create("space", "nasa"); !errors.Is(err, billing.ErrInsufficient) {
		return fmt.Errorf("without credits: %w", err)
	}
	fmt.Fprintln(out, "no credits: no monitor")

	// The id makes a top-up that is repeated, such as after a timeout, count once.
	topUp := billing.Entry{ID: "invoice 1", Owner: "acme", Kind: billing.KindTopUp, Amount: 100 * billing.Credit}
	for range 2 {
		if err := ledger.Append(ctx, topUp); err != nil {
			return err
		}
	}
	balance, err := ledger.Balance(ctx, "acme")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "after a top-up: %d credits\n", balance.Available/billing.Credit)
	if err := create("space", "nasa"); err != nil {
		return err
	}
	var quota *streamwatch.QuotaError
	if err := create("more", "esa"); !errors.As(err, &quota) {
		return fmt.Errorf("a second monitor: %w", err)
	}
	fmt.Fprintf(out, "a second monitor: at most %d\n", quota.Limit)
	return nil
}
