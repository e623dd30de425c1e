package enginehttp_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage"
)

// slowReturns is a ledger whose first release waits, and whose first commit waits until
// that release has been made.
type slowReturns struct {
	billing.Ledger
	entered, leave, released chan struct{}
	releases, commits        atomic.Int32
}

func (s *slowReturns) Release(ctx context.Context, id string) error {
	if s.releases.Add(1) > 1 {
		return s.Ledger.Release(ctx, id)
	}
	close(s.entered)
	<-s.leave
	defer close(s.released)
	return s.Ledger.Release(ctx, id)
}

func (s *slowReturns) Commit(ctx context.Context, id string, e billing.Entry) error {
	if s.commits.Add(1) == 1 {
		close(s.leave)
		<-s.released
	}
	return s.Ledger.Commit(ctx, id, e)
}

type slowReturnsStore struct {
	storage.Store
	ledger *slowReturns
}

func (s slowReturnsStore) Ledger() billing.Ledger { return s.ledger }

// A repetition is charged although the first request, whose client went, gives their
// shared reservation back while the repetition is answered. The access log has the id of
// the ledger entry.
func TestIdempotencyKeyReleasedMeanwhileIsCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &slowReturns{entered: make(chan struct{}), leave: make(chan struct{}), released: make(chan struct{})}
		var log bytes.Buffer
		w := newWorld(t, func(s *setup) {
			s.options.Logger = slog.New(slog.NewTextHandler(&log, nil))
			s.faults = func(s storage.Store) storage.Store { l.Ledger = s.Ledger(); return slowReturnsStore{s, l} }
		})
		body := `{"name":"n","usernames":["esa"]}`
		first := make(chan int)
		go func() {
			ctx, cancel := context.WithCancelCause(t.Context())
			r := request("POST", monitors, body).WithContext(goneLater{ctx, cancel})
			r.Header.Set("X-Api-Key", w.key[mine])
			r.Header.Set("Idempotency-Key", "k")
			rec := httptest.NewRecorder()
			w.handler.ServeHTTP(rec, r)
			first <- rec.Code
		}()
		<-l.entered
		a := w.once("k", "POST", monitors, body)
		if a.status != 201 || a.header.Get("X-Credits-Used") != "1" {
			t.Errorf("%d %s, X-Credits-Used %q", a.status, a.body, a.header.Get("X-Credits-Used"))
		}
		if code := <-first; code != 503 {
			t.Errorf("the first request, whose client went: %d", code)
		}
		newest, err := w.store.Ledger().Entries(t.Context(), billing.EntryQuery{Owner: mine, PageSize: 1})
		if err != nil || len(newest.Entries) != 1 || newest.Entries[0].Kind != billing.KindRequest {
			t.Fatalf("the newest entry: %+v, %v", newest, err)
		}
		told(t, &log, " credits=1 charge_id="+newest.Entries[0].ID+"\n", true)
		for _, when := range []string{"after the repetition", "after another one"} {
			if spent, n := w.spent(mine); spent != billing.Credit || n != 1 {
				t.Errorf("%s: charged %d in %d entries, want %d in one", when, spent, n, billing.Credit)
			}
			if a := w.once("k", "POST", monitors, body); a.status != 201 {
				t.Errorf("another repetition: %d %s", a.status, a.body)
			}
		}
	})
}
