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
	"github.com/streamwatch/streamwatch/record"
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

func (s pointedStore) Ports() storage.Ports {
	p := s.Store.Ports()
	p.Records = pointedRecords{p.Records}
	p.Journal = chargedJournal{p.Journal}
	p.Outbox = pointedOutbox{p.Outbox}
	return p
}

type pointedRecords struct{ record.Store }

// Apply is the only call that a change of a monitor, rule or webhook makes.
func (r pointedRecords) Apply(ctx context.Context, c record.Change) (uint64, error) {
	crashpoint.Hit("records.apply.asked")
	feed, err := r.Store.Apply(ctx, c)
	return feed, passed("records.apply.done", err)
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
