package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/storage"
)

// storeTest is a running case, with its store.
type storeTest struct {
	testing.TB
	kit   Kit
	store storage.Store // nil once the case has closed it
	start time.Time     // when the store was opened, in whole microseconds
}

// runStoreCase opens a store, runs the case, and closes the store.
func runStoreCase(tb testing.TB, kit Kit, c storeCase) {
	tb.Helper()
	if why := kit.lacks(c.needs); why != "" {
		tb.Skip(why)
	}
	t := &storeTest{TB: tb, kit: kit}
	t.open()
	defer func() {
		if p := recover(); p != nil { // the store is not closed: it may have panicked with a lock held
			t.Errorf("the case cannot go on: the store panicked, or its answer has less than has to be in it: %v\n%s", p, debug.Stack())
			return
		}
		t.close()
	}()
	c.run(t)
}

// open opens an empty store.
func (t *storeTest) open() {
	t.start = time.Now().UTC().Truncate(time.Microsecond)
	if t.kit.Clock != nil {
		t.start = t.kit.Clock.Now()
	}
	t.store = t.kit.Open(t.TB)
}

// close closes the store, unless the case has done so.
func (t *storeTest) close() {
	if t.store == nil {
		return
	}
	s := t.store
	t.store = nil
	if err := s.Close(context.Background()); err != nil {
		t.Errorf("Close failed, although every call had ended: %v", err)
	}
}

// reopen replaces the store with one that Kit.Reopen opens with its data.
func (t *storeTest) reopen() { t.store = t.kit.Reopen(t.TB, t.store) }

// at returns the time the given number of seconds after the store was opened.
func (t *storeTest) at(seconds int) time.Time {
	return t.start.Add(time.Duration(seconds) * time.Second)
}

// ok ends the case if a call failed that must succeed.
func (t *storeTest) ok(err error, call string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s failed: %v", call, err)
	}
}

// errAny and errField mean any error and any *FieldError, as wanted errors of refused.
var (
	errAny   = errors.New("any error")
	errField = errors.New("a *FieldError")
)

// refused fails the case unless err is want; a nil want means no error. The failure reads as the
// rule.
func (t *storeTest) refused(err, want error, rule string, args ...any) {
	t.Helper()
	var field *invalid.FieldError
	ok := errors.Is(err, want)
	switch want {
	case errAny:
		ok = err != nil
	case errField:
		ok = errors.As(err, &field)
	}
	if !ok {
		t.Errorf("%s (the error is %v, want %v)", fmt.Sprintf(rule, args...), err, want)
	}
}

// expect fails the case unless got is want. The failure reads as the rule.
func expect[T comparable](t *storeTest, got, want T, rule string, args ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s (got %v, want %v)", fmt.Sprintf(rule, args...), got, want)
	}
}

// same is expect for records, which it compares field by field.
func (t *storeTest) same(got, want any, rule string, args ...any) {
	t.Helper()
	if d := differs(got, want); d != "" {
		t.Errorf("%s: %s", fmt.Sprintf(rule, args...), d)
	}
}

// Sources of two owners.
var (
	acme   = storeSource("acme", "m1")
	acme2  = storeSource("acme", "m2")
	globex = storeSource("globex", "m3")
)

func storeSource(owner, id string) deliver.Source {
	return deliver.Source{Kind: deliver.SourceMonitor, ID: id, Owner: owner, Name: "name of " + id}
}

// newEvent returns the event of a post for a source. It gets a delivery to each of the handlers,
// which need no endpoint.
func newEvent(src deliver.Source, tweetID string, handlers ...string) deliver.Event {
	return deliver.Event{
		ID: deliver.EventID(src.ID, tweetID), Source: src, TweetID: tweetID, AuthorUsername: "NASA",
		Body: []byte(`{"tweet_id":"` + tweetID + `"}`), Handlers: handlers,
	}
}

func newEvents(src deliver.Source, tweetIDs ...string) []deliver.Event {
	evs := make([]deliver.Event, len(tweetIDs))
	for i, id := range tweetIDs {
		evs[i] = newEvent(src, id)
	}
	return evs
}

// bind creates endpoints of a source.
func (t *storeTest) bind(src deliver.Source, ids ...string) {
	t.Helper()
	for _, id := range ids {
		t.put(t.endpoint(src, id))
	}
}

func (t *storeTest) commit(batches ...*detect.Batch) {
	t.Helper()
	t.ok(t.store.Ports().Journal.Commit(t.Context(), batches), "Journal.Commit")
}

// commitDue commits the events in one batch. Its deliveries are due at the time due.
func (t *storeTest) commitDue(due time.Time, evs ...deliver.Event) *detect.Batch {
	t.Helper()
	b := &detect.Batch{Events: evs, DeliverBy: due}
	t.commit(b)
	return b
}

func (t *storeTest) events(owner string) []deliver.Event {
	t.Helper()
	evs, err := t.store.Ports().Log.Events(t.Context(), owner, 0, 10_000)
	t.ok(err, "Log.Events")
	return evs
}

// logged returns an owner's events as number:tweet.
func (t *storeTest) logged(owner string) string {
	t.Helper()
	return numbered(t.events(owner))
}

func numbered(evs []deliver.Event) string {
	return joined(evs, func(ev deliver.Event) string { return fmt.Sprintf("%d:%s", ev.Seq, ev.TweetID) })
}

func seqsOf(evs []deliver.Event) string {
	return joined(evs, func(ev deliver.Event) string { return fmt.Sprint(ev.Seq) })
}

func joined[T any](list []T, show func(T) string) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = show(v)
	}
	return strings.Join(parts, " ")
}

// lease is how long the suite's claims last.
const lease = time.Minute

func (t *storeTest) claim(now time.Time, limit int, skip ...string) []deliver.Delivery {
	t.Helper()
	ds, err := t.store.Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: now, Lease: lease, Limit: limit, Skip: skip})
	t.ok(err, "Outbox.Claim")
	return ds
}

func tweetsOf(ds []deliver.Delivery) string {
	return joined(ds, func(d deliver.Delivery) string { return d.Event.TweetID })
}

func endpointsOf(ds []deliver.Delivery) string {
	return joined(ds, func(d deliver.Delivery) string { return d.EndpointID })
}

func (t *storeTest) settle(ss ...deliver.Settlement) {
	t.Helper()
	t.ok(t.store.Ports().Outbox.Settle(t.Context(), ss...), "Outbox.Settle")
}

// attempted returns the settlement after attempt n.
func attempted(id string, n int, state deliver.State, due time.Time) deliver.Settlement {
	return deliver.Settlement{DeliveryID: id, Attempt: &deliver.Attempt{N: n, StatusCode: 200 + n}, State: state, Due: due}
}

func (t *storeTest) entry(owner, id string) deliver.LogEntry {
	t.Helper()
	e, err := t.store.Ports().Log.Delivery(t.Context(), owner, id)
	t.ok(err, "Log.Delivery")
	return e
}

// nextDue returns NextDue as seconds after the start, or "none".
func (t *storeTest) nextDue() string {
	t.Helper()
	due, open, err := t.store.Ports().Outbox.NextDue(t.Context(), nil)
	t.ok(err, "Outbox.NextDue")
	if !open {
		return "none"
	}
	return fmt.Sprint(due.Sub(t.start).Seconds())
}

func (t *storeTest) topUp(owner string, amount billing.Credits) {
	t.Helper()
	t.ok(t.store.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "top-up of " + owner, Owner: owner, Kind: billing.KindTopUp, Amount: amount}), "Ledger.Append")
}

// balance returns an owner's balance as available+reserved.
func (t *storeTest) balance(owner string) string {
	t.Helper()
	b, err := t.store.Ports().Ledger.Balance(t.Context(), owner)
	t.ok(err, "Ledger.Balance")
	return fmt.Sprintf("%d+%d", b.Available, b.Reserved)
}
