package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// oneEndpoint is a store of one endpoint, whose next changes take a second and fail.
type oneEndpoint struct {
	mu    sync.Mutex
	e     deliver.Endpoint
	fails int
}

func (s *oneEndpoint) Get(context.Context, string, string) (deliver.Endpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.e, nil
}

func (s *oneEndpoint) Update(_ context.Context, e deliver.Endpoint) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails > 0 {
		s.fails--
		s.mu.Unlock()
		<-time.After(time.Second)
		s.mu.Lock()
		return errors.New("the store is down")
	}
	s.e = e
	return nil
}

func (s *oneEndpoint) SetFailing(ctx context.Context, e deliver.Endpoint) error {
	return s.Update(ctx, e)
}

// A verdict that could not be written is not written into the record of another receiver, and
// does not keep back what is known of that one.
func TestVerdictOfAnEarlierReceiver(t *testing.T) {
	gone := func(url string, status time.Time) verdict {
		var h health
		for range 2 {
			h.record(time.Now(), &deliver.Result{StatusCode: 410}, false)
		}
		return h.record(time.Now(), &deliver.Result{StatusCode: 410}, false).of(&deliver.Endpoint{URL: url, StatusSince: status})
	}
	failing := func(url string, status time.Time) verdict {
		return verdict{Kind: deliver.NoticeFailing, Since: time.Now()}.of(&deliver.Endpoint{URL: url, StatusSince: status})
	}
	enabled := func(e *deliver.Endpoint) { e.StatusSince = time.Now().UTC() }
	again := func(e *deliver.Endpoint) { e.EnabledAt = time.Now().UTC() }
	moved := func(e *deliver.Endpoint) { e.URL = "https://b" }
	for _, row := range []struct {
		name   string
		judge  func(url string, status time.Time) verdict
		change func(*deliver.Endpoint)
		again  func(url string, status time.Time) verdict // of the new receiver, nil for none
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
				s := &oneEndpoint{fails: 1, e: deliver.Endpoint{ID: "a", URL: "https://a", Status: deliver.EndpointActive, StatusSince: time.Now().UTC()}}
				w := newHealthWriter(&Config{Endpoints: s, Observer: func(deliver.Notice) {}, Logger: slog.New(slog.DiscardHandler)})
				ran := make(chan struct{})
				go func() {
					defer close(ran)
					w.run()
				}()
				<-time.After(time.Minute)
				w.request("a", "o", row.judge(s.e.URL, s.e.StatusSince), time.Now())
				<-time.After(1100 * time.Millisecond) // the writing has failed
				s.mu.Lock()
				row.change(&s.e)
				e := s.e
				s.mu.Unlock()
				if row.again != nil {
					w.request("a", "o", row.again(e.URL, e.StatusSince), time.Now())
				}
				<-time.After(10 * time.Minute)
				close(w.stop)
				<-ran
				if s.e.Status != row.status || s.e.FailingSince.IsZero() == row.failed {
					t.Errorf("the endpoint is %s, failing since %s; want %s, failing: %v", s.e.Status, s.e.FailingSince, row.status, row.failed)
				}
			})
		})
	}
}
