package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// Calls that come while the writer is busy share the next transaction, and each
// gets its own answer.
func TestCallsShareATransaction(t *testing.T) {
	const callers = 40
	h := hold(t)
	before := transactions(t, h.path)
	var results []<-chan error
	for i := range callers {
		results = append(results, h.queue(i+1, func() error {
			switch i % 4 {
			case 1: // the second is not covered
				return h.s.Ports().Ledger.Append(context.Background(), entry(fmt.Sprint("a", i), -1), entry(fmt.Sprint("b", i), -5000))
			case 2:
				return roles.Monitors(h.s.Ports().Records).Update(context.Background(), monitor.Monitor{ID: "none", Owner: "acme", Version: 1})
			}
			return h.s.Ports().Journal.Commit(context.Background(), []*detect.Batch{{Events: newEvents(acme, fmt.Sprint(i))}})
		}))
	}
	h.release()
	for i, result := range results {
		wantErr(t, <-result, []error{nil, billing.ErrInsufficient, monitor.ErrNotFound, nil}[i%4])
	}
	// One for all of them, and none for the one that wrote nothing.
	want(t, "transactions", transactions(t, h.path)-before, 1)
	want(t, "events", len(eventsOf(t, h.s, "acme")), callers/2)
	wantBalance(t, h.s, "acme", 1000, 0) // the refused left no half behind
}

// Calls that come while the first call of a transaction runs are in the same one, and
// an error of one does not affect the others.
func TestCallsJoinTheTransactionUnderWay(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	h := &held{T: t, path: filepath.Join(t.TempDir(), "store.db")}
	var err error
	h.s, err = sqlite.Open(t.Context(), h.path, sqlite.Options{Now: func() time.Time {
		if armed.CompareAndSwap(true, false) {
			close(begun)
			<-end
		}
		return start
	}})
	must(t, err)
	defer closed(t, h.s)
	must(t, h.s.Ports().Ledger.Append(t.Context(), entry("top-up", 1000)))
	before := transactions(t, h.path)
	armed.Store(true)
	first := background(func() error {
		return h.s.Ports().Journal.Commit(context.Background(), []*detect.Batch{{Events: newEvents(acme, "1")}})
	})
	<-begun
	second := h.queue(1, func() error { return h.s.Ports().Ledger.Append(context.Background(), entry("too much", -5000)) })
	third := h.queue(2, func() error { return h.s.Ports().Ledger.Append(context.Background(), entry("a", -1)) })
	close(end)
	wantErr(t, <-first, nil)
	wantErr(t, <-second, billing.ErrInsufficient)
	wantErr(t, <-third, nil)
	want(t, "transactions", transactions(t, h.path)-before, 1)
	want(t, "events", len(eventsOf(t, h.s, "acme")), 1)
	wantBalance(t, h.s, "acme", 999, 0)
}

// Of a statement that fails at one of its rows nothing stays, whether the call is alone in
// its transaction or not.
func TestAStatementThatFailsHalfWay(t *testing.T) {
	h := hold(t)
	first := h.queue(1, func() error { return h.s.Ports().Ledger.Append(context.Background(), entry("first", -1)) })
	half := h.queue(2, func() error { return h.s.FailHalfWay(context.Background()) })
	third := h.queue(3, func() error { return h.s.Ports().Ledger.Append(context.Background(), entry("third", -1)) })
	h.release()
	wantErr(t, <-first, nil)
	wantErr(t, <-third, nil)
	for _, err := range []error{<-half, h.s.FailHalfWay(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "UNIQUE constraint failed") {
			t.Errorf("error = %v, want that of the third row", err)
		}
	}
	rows, err := h.s.Ask(t.Context(), "SELECT count(*) FROM settled")
	must(t, err)
	want(t, "rows of it", rows, "0")
	wantBalance(t, h.s, "acme", 998, 0)
}

func TestAGroupHasABound(t *testing.T) {
	const callers, group = 600, 256
	h := hold(t)
	before := transactions(t, h.path)
	var results []<-chan error
	for i := range callers {
		results = append(results, h.queue(i+1, func() error {
			return h.s.Ports().Ledger.Append(context.Background(), entry(fmt.Sprint(i), -1))
		}))
	}
	h.release()
	for _, result := range results {
		must(t, <-result)
	}
	want(t, "transactions", transactions(t, h.path)-before, (callers+group-1)/group)
	wantBalance(t, h.s, "acme", 1000-callers, 0)
}
