package enginehttp_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// flakyWriter is the connection of a client that may leave before it has the whole
// answer.
type flakyWriter struct {
	*httptest.ResponseRecorder
	failWrite, failFlush bool
}

func (w *flakyWriter) Write(b []byte) (int, error) {
	if w.failWrite {
		return len(b) / 2, errors.New("write: broken pipe")
	}
	return w.ResponseRecorder.Write(b)
}

func (w *flakyWriter) FlushError() error {
	if w.failFlush {
		return errors.New("write: connection reset by peer")
	}
	return nil
}

// However requests end – with answers, errors, panics, timeouts, or clients that leave
// before or during the answer – exactly those are charged whose 2xx was written
// whole. A long run makes a hundred thousand of them.
func TestChargesAreTheAnswersOf2xx(t *testing.T) {
	requests := testsize.Of(1_500, 6_000, 100_000)
	const workers = 8
	type mood struct{ name string }
	moods := []mood{{"well"}, {"well"}, {"panic"}, {"abort"}, {"upstream"}, {"not found"}, {"timeout"}, {"leaves first"}, {"leaves while"}, {"write fails"}, {"flush fails"}}
	p := &providers{}
	p.hook = func(ctx context.Context) error {
		switch m, _ := ctx.Value(moodKey{}).(string); m {
		case "panic":
			panic("a provider's mistake")
		case "abort":
			panic(http.ErrAbortHandler)
		case "upstream":
			return errBroken
		case "not found":
			return fetcher.ErrNotFound
		case "timeout":
			return context.DeadlineExceeded
		case "leaves while":
			ctx.Value(leaveKey{}).(context.CancelFunc)()
		}
		return nil
	}
	w := newWorld(t, func(s *setup) { s.options.Providers = p.all() })
	if err := w.store.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "more", Owner: mine, Kind: billing.KindTopUp, Amount: billing.Credits(requests*10) * billing.Credit}); err != nil {
		t.Fatal(err)
	}
	before, _ := w.spent(mine)
	paths := []struct {
		method, path, body string
		cost               billing.Credits
	}{
		{"GET", social + "/users/nasa/by_username", "", billing.Credit},
		{"GET", "/v1/marketplace/products/3/4", "", 5 * billing.Credit},
		{"POST", "/v1/web/scrape", `{"url":"https://example.com/"}`, billing.Credit},
		{"POST", "/v1/web/scrape", `{"url":5}`, billing.Credit},
		{"GET", monitors, "", billing.Credit},
		{"GET", monitors + "/{monitor}", "", billing.Credit},
		{"GET", monitors + "/unknown", "", billing.Credit},
	}
	var want atomic.Int64
	var answered [600]atomic.Int64
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(worker), 7))
			for range requests / workers {
				q, m := paths[rng.IntN(len(paths))], moods[rng.IntN(len(moods))].name
				ctx, cancel := context.WithCancel(context.WithValue(t.Context(), moodKey{}, m))
				ctx = context.WithValue(ctx, leaveKey{}, cancel)
				if m == "leaves first" {
					cancel()
				}
				r := request(q.method, w.ids[mine].Replace(q.path), q.body).WithContext(ctx)
				r.Header.Set("X-Api-Key", w.key[mine])
				rec := &flakyWriter{httptest.NewRecorder(), m == "write fails", m == "flush fails"}
				aborted := func() (aborted bool) {
					defer func() {
						if p := recover(); p != nil {
							aborted = p == http.ErrAbortHandler
							if !aborted {
								panic(p)
							}
						}
					}()
					w.handler.ServeHTTP(rec, r)
					return false
				}()
				if !aborted {
					answered[rec.Code].Add(1)
					if rec.Code/100 == 2 && !rec.failWrite && !rec.failFlush {
						want.Add(int64(q.cost))
					}
				}
				cancel()
			}
		})
	}
	wg.Wait()
	after, _ := w.spent(mine)
	if got := int64(after - before); got != want.Load() || got == 0 {
		t.Errorf("charged %d, want %d", got, want.Load())
	}
	for _, status := range []int{200, 404, 422, 500, 502, 503} {
		if answered[status].Load() == 0 {
			t.Errorf("no request was answered %d: want every kind of end", status)
		}
	}
}

type (
	moodKey  struct{}
	leaveKey struct{}
)

// Of a thousand concurrent requests with credits for one, one succeeds.
func TestLastCredit(t *testing.T) {
	for round := range testsize.Of(2, 5, 20) {
		w := newWorld(t, func(s *setup) {})
		w.checked = false
		w.empty(mine)
		if err := w.store.Ports().Ledger.Append(t.Context(), billing.Entry{ID: fmt.Sprint("half", round), Owner: mine, Amount: 500}); err != nil {
			t.Fatal(err)
		}
		var ok, refused atomic.Int64
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				switch a := w.do(mine, "GET", "/v1/account/me", ""); a.status {
				case 200:
					ok.Add(1)
				case 402:
					refused.Add(1)
				}
			})
		}
		wg.Wait()
		if ok.Load() != 1 || refused.Load() != 999 {
			t.Fatalf("%d of 1,000 succeeded, %d were refused: want 1 and 999", ok.Load(), refused.Load())
		}
	}
}

// A charge is retried, also if only the ledger's answer was lost. If it cannot be
// made, the client has the answer for nothing, and the reservation expires.
func TestChargeIsTriedAgain(t *testing.T) {
	for name, plan := range map[string]storetest.FaultPlan{
		"refused once": {Method: "Ledger.Commit", Call: 1},
		"answer lost":  {Method: "Ledger.Commit", Call: 1, Do: storetest.FailAfter},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(s *setup) {
				s.faults = func(s storage.Store) storage.Store { return storetest.FaultyStore(s, plan) }
			})
			a := w.do(mine, "GET", "/v1/account/me", "")
			if got, n := w.spent(mine); a.status != 200 || got != billing.Credit || n != 1 {
				t.Errorf("%d, charged %d in %d entries, want one credit in 1", a.status, got, n)
			}
		})
	}
	w := newWorld(t, func(s *setup) {
		s.faults = func(s storage.Store) storage.Store {
			return storetest.FaultyStore(s, storetest.FaultPlan{Method: "Ledger.Commit"})
		}
	})
	a := w.do(mine, "GET", "/v1/account/me", "")
	b, err := w.store.Ports().Ledger.Balance(t.Context(), mine)
	if a.status != 200 || err != nil || b.Available+b.Reserved != funds {
		t.Errorf("%d, %+v, %v: want an answer, and a reservation that will expire", a.status, b, err)
	}
}

// An endpoint with a price of 0 works without credits. Without a ledger all do.
func TestFreeEndpoints(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.options.Pricing = freeAccount{} })
	w.empty(mine)
	if a := w.do(mine, "GET", "/v1/account/me", ""); a.status != 200 || a.header.Get("X-Credits-Used") != "" {
		t.Errorf("%d, X-Credits-Used %q", a.status, a.header.Get("X-Credits-Used"))
	}
	if a := w.do(mine, "GET", monitors, ""); a.status != 402 {
		t.Errorf("%d, want 402", a.status)
	}
	h, err := enginehttp.New(w.engine, enginehttp.Options{Auth: w.keys})
	if err != nil {
		t.Fatal(err)
	}
	w.handler = h
	for _, path := range []string{"/v1/account/me", monitors, social + "/stream/filter-rules", social + "/stream/billing-logs"} {
		a := w.do(mine, "GET", path, "")
		if a.status != 200 || a.header.Get("X-Credits-Used") != "" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		if path != "/v1/account/me" && (strings.Contains(a.body, "credits") || strings.Contains(a.body, "pricing_tier")) {
			t.Errorf("%s shows prices, though nothing is charged: %s", path, a.body)
		}
	}
}

type freeAccount struct{ billing.Presets }

func (freeAccount) Request(endpoint string) billing.Credits {
	if endpoint == "account" {
		return 0
	}
	return billing.Credit
}

// The billing log shows what was charged for, and the exact amount.
func TestBillingLog(t *testing.T) {
	w := newWorld(t)
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	if err := w.store.Ports().Ledger.Append(t.Context(),
		billing.Entry{ID: "m1", Owner: mine, Kind: billing.KindMonitor, Amount: -1157, At: at, SourceID: "mon_x", SourceName: "space", NumAccounts: 1, TierLabel: "1-10", Rate: 1667 * billing.Credit},
		billing.Entry{ID: "r1", Owner: mine, Kind: billing.KindRule, Amount: -70, At: at, SourceID: "rul_x", SourceName: "moon"}); err != nil {
		t.Fatal(err)
	}
	w.do(mine, "GET", "/v1/account/me", "")
	a := w.do(mine, "GET", social+"/stream/billing-logs?sort=asc", "")
	for _, want := range []string{
		`"kind":"top_up","billed_at":`, `"credits_deducted":-1000,"balance_after":1000,`,
		`{"id":"m1","kind":"monitor","monitor_id":"mon_x","monitor_name":"space","billed_at":"2026-11-21T09:00:00.000Z","num_accounts":1,"credits_deducted":1.157,"balance_after":998.843,"tier_label":"1-10","rate_applied":1667}`,
		`{"id":"r1","kind":"rule","rule_id":"rul_x","rule_tag":"moon","billed_at":"2026-11-21T09:00:00.000Z","num_accounts":0,"credits_deducted":0.07,"balance_after":998.773,`,
		`"kind":"request","endpoint":"account",`, `"total":4,"page":1,"page_size":20,"limit":20,"offset":0,"next_cursor":""}`,
	} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%s\nhas no %s", a.body, want)
		}
	}
	if a = w.do(mine, "GET", social+"/stream/billing-logs?monitor_id=mon_x", ""); !strings.Contains(a.body, `"total":1`) {
		t.Errorf("of one monitor: %s", a.body)
	}
}

// The balances in the billing log add up while other requests have credits reserved.
func TestBillingLogAddsUpBesideOtherRequests(t *testing.T) {
	w := newWorld(t)
	if err := w.store.Ports().Ledger.Reserve(t.Context(), billing.Reservation{ID: "under way", Owner: mine, Amount: 8 * billing.Credit}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.do(mine, "GET", "/v1/account/me", "")
	}
	a := w.do(mine, "GET", social+"/stream/billing-logs?sort=asc", "")
	if got, want := fmt.Sprint(regexp.MustCompile(`"balance_after":\d+`).FindAllString(a.body, -1)), `["balance_after":1000 "balance_after":999 "balance_after":998 "balance_after":997]`; got != want {
		t.Errorf("rows say %s, want %s", got, want)
	}
}
