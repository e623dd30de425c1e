package main

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

// passed returns the outcome of a call. If the call succeeded, the process may die at the named
// point.
func passed(name string, err error) error {
	if err == nil {
		crashpoint.Hit(name)
	}
	return err
}

// pointedStore is a store with points around the calls of its ports.
type pointedStore struct{ storage.Store }

// pointedSharing is a pointedStore that several engines may share and that can erase owners.
type pointedSharing struct {
	storage.Store
	storage.Sharing
	storage.Eraser
}

func (s pointedStore) Monitors() monitor.Store          { return pointedMonitors{s.Store.Monitors()} }
func (s pointedStore) Rules() rule.Store                { return pointedRules{s.Store.Rules()} }
func (s pointedStore) Endpoints() deliver.EndpointStore { return pointedEndpoints{s.Store.Endpoints()} }
func (s pointedStore) Journal() detect.Journal          { return chargedJournal{s.Store.Journal()} }
func (s pointedStore) Outbox() deliver.Outbox           { return pointedOutbox{s.Store.Outbox()} }

type pointedMonitors struct{ monitor.Store }

// Create is called when the manager has already created the endpoint.
func (m pointedMonitors) Create(ctx context.Context, mon monitor.Monitor) error {
	crashpoint.Hit("monitors.create.asked")
	return m.Store.Create(ctx, mon)
}

func (m pointedMonitors) Update(ctx context.Context, mon monitor.Monitor) error {
	return passed("monitors.update.done", m.Store.Update(ctx, mon))
}

// Delete is called after the manager has ended the watching and removed the endpoints.
func (m pointedMonitors) Delete(ctx context.Context, owner, id string) error {
	crashpoint.Hit("monitors.delete.asked")
	return m.Store.Delete(ctx, owner, id)
}

type pointedRules struct{ rule.Store }

// Create is called when the manager has already created the endpoint.
func (p pointedRules) Create(ctx context.Context, r rule.Rule) error {
	crashpoint.Hit("rules.create.asked")
	return p.Store.Create(ctx, r)
}

// Update is called before the manager changes the endpoint.
func (p pointedRules) Update(ctx context.Context, r rule.Rule) error {
	return passed("rules.update.done", p.Store.Update(ctx, r))
}

// Delete is called after the manager has ended the search and removed the endpoints.
func (p pointedRules) Delete(ctx context.Context, owner, id string) error {
	crashpoint.Hit("rules.delete.asked")
	return p.Store.Delete(ctx, owner, id)
}

type pointedEndpoints struct{ deliver.EndpointStore }

func (e pointedEndpoints) Delete(ctx context.Context, owner, id string) error {
	return passed("endpoints.delete.done", e.EndpointStore.Delete(ctx, owner, id))
}

// detectionPrice is charged for each event, in thousandths of a credit.
const detectionPrice = 7

// chargedJournal charges for each event in the commit that records it, as a service would that
// sells detections. Thus a commit writes every kind of record. A commit also claims deliveries for
// its process. chargedJournal makes these claims as short as a dispatcher accepts, because another
// process can send the deliveries of a killed one only after that.
type chargedJournal struct{ detect.Journal }

func (j chargedJournal) Commit(ctx context.Context, batches []*detect.Batch) error {
	by := time.Now().Add(claimLasts)
	for _, b := range batches {
		b.DeliverBy = by
		b.Charges = nil
		for i := range b.Events {
			e := &b.Events[i]
			b.Charges = append(b.Charges, billing.Entry{
				ID: chargeID(e.ID), Owner: e.Source.Owner, Kind: billing.KindMonitor, Amount: -detectionPrice,
				At: e.DetectedAt, SourceID: e.Source.ID, SourceName: e.Source.Name,
			})
		}
	}
	crashpoint.Hit("commit.asked")
	return passed("commit.done", j.Journal.Commit(ctx, batches))
}

type pointedOutbox struct{ deliver.Outbox }

func (o pointedOutbox) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	ds, err := o.Outbox.Claim(ctx, r)
	return ds, passed("claim.done", err)
}

func (o pointedOutbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	if len(ss) == 0 {
		return o.Outbox.Settle(ctx)
	}
	crashpoint.Hit("settle.asked")
	return passed("settle.done", o.Outbox.Settle(ctx, ss...))
}

// namedTransport adds to each request which process sends it.
type namedTransport struct {
	http.RoundTripper
	life int
}

func (t namedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(headerLife, strconv.Itoa(t.life))
	return t.RoundTripper.RoundTrip(r)
}
