package detect

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// badProber fails with an error that panics when it is asked what it says.
type badProber struct{ err error }

func (p badProber) ProbeLimit() int { return 10 }
func (p badProber) Probe(context.Context, []fetcher.Account) (fetcher.Probe, error) {
	return fetcher.Probe{}, p.err
}

// badStreamer does so, too.
type badStreamer struct{ err error }

func (s badStreamer) Brings(*fetcher.Tweet) bool { return true }
func (s badStreamer) Stream(context.Context, fetcher.StreamQuery, func(fetcher.Signal) error) error {
	return s.err
}

// A nil *StatusError or *RateLimitError in an error is a failure of the call that returned it, and stops
// nothing else.
func TestErrorThatPanicsIsAFailure(t *testing.T) {
	var status *fetcher.StatusError
	for name, set := range map[string]func(w *world, s *settings){
		"timeline": func(w *world, s *settings) {
			w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) { return nil, status })
		},
		"limit": func(w *world, s *settings) {
			w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
				return nil, (*fetcher.RateLimitError)(nil)
			})
		},
		"timelines": func(w *world, s *settings) {
			s.Roles.Batch = &batchWorld{world: w, answer: func([]fetcher.TimelineQuery, []fetcher.Page) ([]fetcher.Page, error) { return nil, status }}
		},
		"page of several": func(w *world, s *settings) {
			s.Roles.Batch = &batchWorld{world: w, answer: func(_ []fetcher.TimelineQuery, pages []fetcher.Page) ([]fetcher.Page, error) {
				pages[0].Err = status
				return pages, nil
			}}
		},
		"probe":  func(w *world, s *settings) { s.ProbeRate, s.Roles.Probe = 1, badProber{status} },
		"stream": func(w *world, s *settings) { s.Roles.Stream = badStreamer{status} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				told := &strings.Builder{}
				d := w.detector(t, func(s *settings) {
					s.Shards = 1
					set(w, s)
				})
				defer start(t, d)()
				if err := d.Set(t.Context(), sub("m", "nasa", "esa")); err != nil {
					t.Fatal(err)
				}
				after(30 * time.Second)
				for _, account := range []string{"nasa", "esa"} {
					st, ok, err := d.Account(t.Context(), account)
					if !ok || err != nil {
						t.Errorf("%s: %v, %v", account, ok, err)
					}
					told.WriteString(st.Error)
				}
				if name == "timeline" && !strings.Contains(told.String(), "panicked") {
					t.Errorf("status %q, want one that says that the Fetcher panicked", told)
				}
			})
		})
	}
}
