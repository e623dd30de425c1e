package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage"
)

// commitOne commits a post with a charge of one.
func commitOne(ctx context.Context, s storage.Store, owner, tweet string) error {
	return s.Ports().Journal.Commit(ctx, []*detect.Batch{{
		Events:    []deliver.Event{postOf(sourceNamed(owner, "of "+owner), tweet, "log")},
		Charges:   []billing.Entry{{ID: "charge for " + tweet, Owner: owner, Kind: billing.KindMonitor, Amount: -1}},
		DeliverBy: time.Now(),
	}})
}

func payIn(t testing.TB, s storage.Store, owner string, amount billing.Credits) {
	t.Helper()
	need(t, s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "top-up of " + owner, Owner: owner, Kind: billing.KindTopUp, Amount: amount}))
}

// committedOnce checks that an owner has these posts, each once, numbered without holes,
// and was charged for each once.
func committedOnce(t testing.TB, s storage.Store, owner string, paid billing.Credits, tweets map[string]bool) {
	t.Helper()
	seen := map[string]bool{}
	for i, ev := range allEvents(t, s, owner) {
		if ev.Seq != uint64(i+1) || seen[ev.TweetID] {
			t.Errorf("event %d of %q has number %d, post %s; seen before: %v", i+1, owner, ev.Seq, ev.TweetID, seen[ev.TweetID])
		}
		seen[ev.TweetID] = true
	}
	for tweet := range tweets {
		if !seen[tweet] {
			t.Errorf("post %s of %q is missing", tweet, owner)
		}
	}
	delivered := map[string]bool{}
	for _, d := range allDeliveries(t, s, owner) {
		if delivered[d.Event.ID] {
			t.Errorf("event %s of %q has two deliveries", d.Event.ID, owner)
		}
		delivered[d.Event.ID] = true
	}
	if len(delivered) != len(seen) {
		t.Errorf("%d events of %q have a delivery, of %d", len(delivered), owner, len(seen))
	}
	charges := map[string]bool{}
	for _, e := range allEntries(t, s, owner) {
		if charges[e.ID] {
			t.Errorf("entry %s of %q is there twice", e.ID, owner)
		}
		charges[e.ID] = true
	}
	if b := balanceIn(t, s, owner); b.Available+b.Reserved != paid-billing.Credits(len(charges)-1) || len(charges)-1 != len(seen) {
		t.Errorf("%q paid %d, has %d and %d reserved, after %d events and %d charges", owner, paid, b.Available, b.Reserved, len(seen), len(charges)-1)
	}
}
