package detect

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/heard"
)

// logged are a log's messages, in order.
func logged(log string) (messages []string) {
	for line := range strings.Lines(log) {
		_, rest, _ := strings.Cut(line, "level=")
		level, rest, _ := strings.Cut(rest, " msg=")
		if strings.HasPrefix(rest, `"`) {
			rest, _, _ = strings.Cut(rest[1:], `"`)
		}
		messages = append(messages, level+" "+rest)
	}
	return messages
}

// Who reads the log learns of each closing of the budget, once however many
// calls found the limit, and when calls work again.
func TestRateLimitIsTold(t *testing.T) {
	const begins, ends = "WARN rate limited", "INFO rate limit is over"
	const window = 4 * time.Minute
	for name, refuse := range map[string]func(reset time.Time) (*fetcher.Page, error){
		"429": func(reset time.Time) (*fetcher.Page, error) {
			return nil, &fetcher.RateLimitError{RetryAfter: time.Until(reset)}
		},
		"no call left": func(reset time.Time) (*fetcher.Page, error) {
			return &fetcher.Page{RateLimit: fetcher.RateLimit{Known: true, Limit: 300, Reset: reset}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log heard.Output
				w := newWorld()
				w.setSlow(time.Second) // so that many calls are under way
				d := w.detector(t, func(c *settings) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
				stop := start(t, d)
				set(t, d, sub("m", accountNames(50)...))
				after(time.Minute)
				var want []string
				for range 2 {
					reset := time.Now().Add(window)
					w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) {
						if time.Now().Before(reset) {
							return refuse(reset)
						}
						return nil, nil
					})
					after(window / 2)
					want = append(want, begins)
					if got := logged(log.String()); !slices.Equal(got, want) {
						t.Errorf("within the window the log says %q, want %q", got, want)
					}
					if until := reset.Format("15:04"); !strings.Contains(log.String(), until) {
						t.Errorf("the log does not say %s: %s", until, log.String())
					}
					after(window)
					want = append(want, ends)
				}
				stop()
				if got := logged(log.String()); !slices.Equal(got, want) {
					t.Errorf("the log says %q, want %q", got, want)
				}
			})
		})
	}
}

// What keeps an account or a query from being read is told once, and once that
// it works again; what passes by itself in seconds is not told.
func TestFailureIsToldOnce(t *testing.T) {
	const untold = 1000 * time.Hour
	for _, tc := range []struct {
		name  string
		err   error
		lasts time.Duration
		told  time.Duration // at the latest after; untold for not at all
	}{
		{"a name that is not found", fmt.Errorf("test: %w", fetcher.ErrNotFound), 2 * time.Hour, 15 * time.Second},
		{"a wait of four minutes", &fetcher.StatusError{Code: 503, RetryAfter: 4 * time.Minute}, 4 * time.Minute, 15 * time.Second},
		{"a limit of four minutes for it alone", &fetcher.RateLimitError{RetryAfter: 4 * time.Minute, Target: true}, 4 * time.Minute, 15 * time.Second},
		{"an outage", errors.New("down"), time.Hour, 2 * time.Minute},
		{"one failure", errors.New("down"), 15 * time.Second, untold},
	} {
		check := func(t *testing.T, w *searchable, what string, begin func(*Detector)) {
			t.Helper()
			log := &heard.Output{}
			until := time.Now().Add(tc.lasts)
			calls := 0
			fail := func() error {
				if calls++; time.Now().Before(until) && (tc.told != untold || calls == 1) {
					return tc.err
				}
				return nil
			}
			w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) { return nil, fail() })
			w.setAnswer(func(fetcher.SearchQuery) (*fetcher.Page, error) { return nil, fail() })
			d := w.detector(t, func(c *settings) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
			stop := start(t, d)
			begin(d)
			after(min(tc.told, tc.lasts))
			var want []string
			if tc.told != untold {
				want = append(want, "WARN "+what+" fails")
			}
			if got := logged(log.String()); !slices.Equal(got, want) {
				t.Errorf("after %s the log says %q, want %q", min(tc.told, tc.lasts), got, want)
			}
			after(tc.lasts + time.Hour)
			stop()
			if tc.told != untold {
				want = append(want, "INFO "+what+" recovers")
			}
			if got := logged(log.String()); !slices.Equal(got, want) {
				t.Errorf("the log says %q, want %q", got, want)
			}
		}
		t.Run("account: "+tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSearchable()
				check(t, w, "account", func(d *Detector) { set(t, d, sub("m", "nasa")) })
			})
		})
		t.Run("query: "+tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSearchable()
				check(t, w, "query", func(d *Detector) { setQuery(t, d, asks("r", "moon")) })
			})
		})
	}
}

// A detector that is stopped while it begins logs nothing of it.
func TestStopAtOnceIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 { // who is first is open
			var log heard.Output
			d := newWorld().detector(t, func(c *settings) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			d.Stop()
			if err := d.Run(t.Context()); err != nil {
				t.Errorf("Run: %v", err)
			}
			if log.String() != "" {
				t.Errorf("logged %s", log.String())
			}
		}
	})
}
