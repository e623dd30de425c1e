package main

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

// portPage is how many records are asked for at a time.
const portPage = 10_000

// readPorts fills in the state through a store's ports.
func readPorts(ctx context.Context, store storage.Store, s *state) error {
	s.Balances = make(map[string]balance)
	for _, owner := range []string{rich, poor} {
		err := errors.Join(readEvents(ctx, store.Ports().Log, owner, s), readDeliveries(ctx, store.Ports().Log, owner, s), readMoney(ctx, store.Ports().Ledger, owner, s))
		if err != nil {
			return err
		}
	}
	if err := readCursors(ctx, store.Ports().Journal, s); err != nil {
		return err
	}
	return readRecords(ctx, store.Ports().Records, s)
}

func readRecords(ctx context.Context, records record.Store, s *state) error {
	return errors.Join(
		roles.Monitors(records).Scan(ctx, func(m monitor.Monitor) error {
			s.Monitors = append(s.Monitors, *watchOf(m))
			return nil
		}),
		roles.Rules(records).Scan(ctx, func(r rule.Rule) error {
			s.Rules = append(s.Rules, filterRule{r.ID, r.Tag, hook{r.WebhookURL, r.WebhookID}})
			return nil
		}),
		roles.Endpoints(records).Scan(ctx, func(e deliver.Endpoint) error {
			s.Endpoints = append(s.Endpoints, endpoint{e.ID, e.Source.ID, e.URL})
			return nil
		}))
}

// halfChanges reads the records while processes change them, and returns what is visible of a
// change that is half done. It reads again if the feed shows that there was a change meanwhile,
// because the reading takes several calls.
func halfChanges(ctx context.Context, records record.Store) ([]string, error) {
	for tries := 0; tries < 20; tries++ {
		before, err := lastChange(ctx, records)
		var s state
		if err == nil {
			err = readRecords(ctx, records, &s)
		}
		if err != nil {
			return nil, err
		}
		if after, err := lastChange(ctx, records); err != nil || after == before {
			return s.halfDone(), err
		}
	}
	return nil, nil
}

// lastChange returns the number of the last change in the feed.
func lastChange(ctx context.Context, records record.Store) (uint64, error) {
	_, last, err := records.Since(ctx, math.MaxInt64, 0)
	if errors.Is(err, record.ErrTooOld) {
		err = nil
	}
	return last, err
}

func readEvents(ctx context.Context, log deliver.Log, owner string, s *state) error {
	for after := uint64(0); ; {
		list, err := log.Events(ctx, owner, after, portPage)
		if err != nil {
			return err
		}
		for _, e := range list {
			s.Events = append(s.Events, event{
				ID: e.ID, Owner: e.Source.Owner, Source: e.Source.ID, Tweet: e.TweetID, Author: e.AuthorUsername, Seq: int64(e.Seq), Committed: e.CommittedAt,
			})
			after = e.Seq
		}
		if len(list) < portPage {
			return nil
		}
	}
}

func readDeliveries(ctx context.Context, log deliver.Log, owner string, s *state) error {
	for page := 1; ; page++ {
		list, err := log.Deliveries(ctx, deliver.LogQuery{Owner: owner, Asc: true, Page: page, PageSize: portPage})
		if err != nil {
			return err
		}
		for _, e := range list.Entries {
			d := delivery{ID: e.ID, Event: e.Event.ID, Endpoint: e.EndpointID, State: string(e.State), Open: !e.State.Final()}
			for _, a := range e.Log {
				d.Attempts = append(d.Attempts, attempt{a.N, a.StatusCode, a.Error})
			}
			s.Deliveries = append(s.Deliveries, d)
		}
		if page*portPage >= list.Total {
			return nil
		}
	}
}

func readMoney(ctx context.Context, ledger billing.Ledger, owner string, s *state) error {
	for page := 1; ; page++ {
		list, err := ledger.Entries(ctx, billing.EntryQuery{Owner: owner, Asc: true, Page: page, PageSize: portPage})
		if err != nil {
			return err
		}
		for _, e := range list.Entries {
			s.Entries = append(s.Entries, entry{e.ID, e.Owner, int64(e.Amount), int64(e.Balance)})
		}
		if page*portPage >= list.Total {
			break
		}
	}
	b, err := ledger.Balance(ctx, owner)
	s.Balances[owner] = balance{int64(b.Available), int64(b.Reserved)}
	return err
}

func readCursors(ctx context.Context, journal detect.Journal, s *state) error {
	list, err := journal.Cursors(ctx, watched()...)
	s.Cursors = make(map[string]time.Time)
	for _, c := range list {
		if !c.Since.IsZero() {
			s.Cursors[c.Target] = c.Since
		}
	}
	return err
}

// watched returns the targets of all accounts.
func watched() (list []string) {
	for _, name := range accountNames() {
		list = append(list, target(name))
	}
	return list
}
