package health_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch/internal/health"
)

// record is a store of one endpoint, whose next updates take a second and fail.
type record struct {
	deliver.EndpointStore
	mu    sync.Mutex
	e     deliver.Endpoint
	fails int
}

func (r *record) Get(context.Context, string, string) (deliver.Endpoint, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.e, nil
}

func (r *record) Update(_ context.Context, e deliver.Endpoint) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails > 0 {
		r.fails--
		r.mu.Unlock()
		<-time.After(time.Second)
		r.mu.Lock()
		return errors.New("the store is down")
	}
	r.e = e
	return nil
}

// An endpoint that fails again while its recovery cannot be written is failing since then,
// and not since before.
func TestFailingSinceAfterARecoveryThatCouldNotBeWritten(t *testing.T) {
	for _, row := range []struct {
		name  string
		wait  time.Duration // from the recovery to the failure
		fails int           // writes
	}{
		{"before the writing", 0, 0},
		{"while it is written", time.Second / 2, 1},
		{"while it is written, and then fails as well", time.Second / 2, 2},
		{"after the writing has failed", 3 * time.Second / 2, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := &record{fails: row.fails, e: deliver.Endpoint{ID: "a", Status: deliver.EndpointActive, FailingSince: began.UTC()}}
				w := health.NewWriter()
				w.Endpoints, w.Observer, w.Logger = s, func(deliver.Notice) {}, slog.New(slog.DiscardHandler)
				w.Written = func(string, time.Time) {}
				<-time.After(time.Hour)
				w.Request("a", "o", health.Verdict{Kind: deliver.NoticeRecovered, Since: began}, time.Now())
				ran := make(chan struct{})
				go func() {
					defer close(ran)
					w.Run()
				}()
				if row.wait > 0 {
					<-time.After(row.wait)
				}
				again := time.Now()
				w.Request("a", "o", health.Verdict{Kind: deliver.NoticeFailing, Since: again}, again)
				<-time.After(10 * time.Minute)
				w.Stop()
				<-ran
				if !s.e.FailingSince.Equal(again) {
					t.Errorf("failing since %s after the beginning, want %s", s.e.FailingSince.Sub(began), again.Sub(began))
				}
			})
		})
	}
}

// A verdict that could not be written is not written into the record of another receiver, and
// does not keep back what is known of that one.
func TestVerdictOfAnEarlierReceiver(t *testing.T) {
	gone := func(url string, status time.Time) health.Verdict {
		var h health.Health
		for range 2 {
			h.Record(time.Now(), &deliver.Result{StatusCode: 410}, false)
		}
		return h.Record(time.Now(), &deliver.Result{StatusCode: 410}, false).Of(&deliver.Endpoint{URL: url, StatusSince: status})
	}
	failing := func(url string, status time.Time) health.Verdict {
		return health.Verdict{Kind: deliver.NoticeFailing, Since: time.Now()}.Of(&deliver.Endpoint{URL: url, StatusSince: status})
	}
	enabled := func(e *deliver.Endpoint) { e.StatusSince = time.Now().UTC() }
	again := func(e *deliver.Endpoint) { e.EnabledAt = time.Now().UTC() }
	moved := func(e *deliver.Endpoint) { e.URL = "https://b" }
	for _, row := range []struct {
		name   string
		judge  func(url string, status time.Time) health.Verdict
		change func(*deliver.Endpoint)
		again  func(url string, status time.Time) health.Verdict // of the new receiver, nil for none
		status deliver.EndpointStatus
		failed bool
	}{
		{"gone", gone, func(*deliver.Endpoint) {}, nil, deliver.EndpointDisabled, false},
		{"gone, then moved", gone, moved, nil, deliver.EndpointActive, false},
		{"gone, then enabled", gone, enabled, nil, deliver.EndpointActive, false},
		{"gone, then enabled while active", gone, again, nil, deliver.EndpointActive, false},
		{"failing, then enabled while active", failing, again, nil, deliver.EndpointActive, false},
		{"failing", failing, func(*deliver.Endpoint) {}, nil, deliver.EndpointActive, true},
		{"failing, then moved", failing, moved, nil, deliver.EndpointActive, false},
		{"gone, then moved, then failing", gone, moved, failing, deliver.EndpointActive, true},
		{"failing, then moved, then gone", failing, moved, gone, deliver.EndpointDisabled, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &record{fails: 1, e: deliver.Endpoint{ID: "a", URL: "https://a", Status: deliver.EndpointActive, StatusSince: time.Now().UTC()}}
				w := health.NewWriter()
				w.Endpoints, w.Observer, w.Logger = s, func(deliver.Notice) {}, slog.New(slog.DiscardHandler)
				w.Written = func(string, time.Time) {}
				ran := make(chan struct{})
				go func() {
					defer close(ran)
					w.Run()
				}()
				<-time.After(time.Minute)
				w.Request("a", "o", row.judge(s.e.URL, s.e.StatusSince), time.Now())
				<-time.After(1100 * time.Millisecond) // the writing has failed
				s.mu.Lock()
				row.change(&s.e)
				e := s.e
				s.mu.Unlock()
				if row.again != nil {
					w.Request("a", "o", row.again(e.URL, e.StatusSince), time.Now())
				}
				<-time.After(10 * time.Minute)
				w.Stop()
				<-ran
				if s.e.Status != row.status || s.e.FailingSince.IsZero() == row.failed {
					t.Errorf("the endpoint is %s, failing since %s; want %s, failing: %v", s.e.Status, s.e.FailingSince, row.status, row.failed)
				}
			})
		})
	}
}
