package main

import (
	"context"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// platform answers at once, with an empty page.
type platform struct{ poll func(account int) }

func (p platform) Timeline(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	p.poll(accountOf(q.Username))
	return fetcher.Page{}, nil
}

// nowhere is a journal that keeps nothing.
type nowhere struct{}

func (nowhere) Commit(context.Context, []*detect.Batch) error               { return nil }
func (nowhere) Cursors(context.Context, ...string) ([]detect.Cursor, error) { return nil, nil }

// monitorSizes are how many accounts one subscription after the other has.
var monitorSizes = []int{100, 1000, 10_000}

// startDetector runs the engine's detection core.
func startDetector(n int, period time.Duration, poll func(int)) error {
	d, err := detect.New(detect.Config{}, detect.Deps{Fetcher: platform{poll}, Journal: nowhere{}, State: memory.New(memory.Options{}).Ports().State})
	if err != nil {
		return err
	}
	ctx := context.Background()
	go d.Run(ctx) // ends with the process
	for from, m := 0, 0; from < n; m++ {
		to := min(from+monitorSizes[m%len(monitorSizes)], n)
		sub := detect.Subscription{
			Source:   deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_" + strconv.Itoa(m), Owner: "owner"},
			Interval: period,
			Spread:   true,
			Accounts: make([]monitor.Account, 0, to-from),
		}
		since := time.Now()
		for ; from < to; from++ {
			sub.Accounts = append(sub.Accounts, monitor.Account{Username: username(from), Since: since})
		}
		if err := d.Set(ctx, sub); err != nil {
			return err
		}
	}
	return nil
}
