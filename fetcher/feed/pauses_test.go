package feed_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
)

// Retry-After is waited for without a request, whatever the refusal it came with: the refusal
// holds. An engine asks again after a quarter of an hour.
func TestRetryAfter(t *testing.T) {
	limited := func(err error) bool { return errors.As(err, new(*fetcher.RateLimitError)) }
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	for _, tt := range []struct {
		name    string
		code    int
		header  string
		wait    time.Duration
		meaning func(error) bool // of the refusal
	}{
		{"429", 429, "Retry-After: 7200", 2 * time.Hour, limited},
		{"503", 503, "Retry-After: 7200", 2 * time.Hour, nil},
		{"401", 401, "Retry-After: 7200", 2 * time.Hour, is(fetcher.ErrUnauthorized)},
		{"403", 403, "Retry-After: 7200", 2 * time.Hour, is(fetcher.ErrProtected)},
		{"404", 404, "Retry-After: 7200", 2 * time.Hour, is(fetcher.ErrNotFound)},
		{"410", 410, "Retry-After: 7200", 2 * time.Hour, nil},
		{"Reddit tells its rate, with fractions", 429, "X-Ratelimit-Remaining: 0.0\nX-Ratelimit-Reset: 2400", 40 * time.Minute, limited},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refuse := true
				f, s := serving(t, nil, func(w http.ResponseWriter, _ *http.Request) {
					if !refuse {
						io.WriteString(w, items("a"))
						return
					}
					for line := range strings.SplitSeq(tt.header, "\n") {
						name, value, _ := strings.Cut(line, ": ")
						w.Header().Set(name, value)
					}
					w.WriteHeader(tt.code)
				})
				r := newReader(t, f)
				for passed := time.Duration(0); passed < tt.wait; passed += 15 * time.Minute {
					_, err := r.try()
					if fetcher.RetryAfter(err) != tt.wait-passed || tt.meaning != nil && !tt.meaning(err) || len(s.requests) != 1 {
						t.Errorf("after %s: error %v after %d requests, want to wait for %s more after one", passed, err, len(s.requests), tt.wait-passed)
					}
					refuse = false
					<-time.After(15 * time.Minute)
				}
				r.read()
			})
		})
	}
}

// A feed that is not to be read yet is answered for from memory, as of when it was read.
func TestPauses(t *testing.T) {
	const ttl = "<ttl>60</ttl>"
	for _, tt := range []struct {
		name, header, inFeed string
		from                 string // the time of the first read, by the clock
		most                 time.Duration
		want                 time.Duration
	}{
		{"none", "", "", "12:00", 0, 0},
		{"max-age", "Cache-Control: public, max-age=3600", "", "12:00", 0, time.Hour},
		{"max-age, of an old copy", "Cache-Control: max-age=\"3600\"\nAge: 600\nExpires: Mon, 02 Mar 2026 12:30:00 GMT", "", "12:00", 0, 50 * time.Minute},
		{"max-age, of a copy that is too old", "Cache-Control: max-age=60\nAge: 600", "", "12:00", 0, 0},
		{"max-age of no number", "Cache-Control: max-age=99999999999\nExpires: Mon, 02 Mar 2026 12:30:00 GMT", "", "12:00", 0, 30 * time.Minute},
		{"no-cache", "Cache-Control: no-cache, max-age=3600", "", "12:00", 0, 0},
		{"no-store", "Cache-Control: max-age=3600, No-Store", "", "12:00", 0, 0},
		{"Expires", "Expires: Mon, 02 Mar 2026 12:30:00 GMT", "", "12:00", 0, 30 * time.Minute},
		{"Expires, by the server's clock", "Expires: Mon, 02 Mar 2026 12:30:00 GMT\nDate: Mon, 02 Mar 2026 11:30:00 GMT", "", "12:00", 0, time.Hour},
		{"Expires, without a Date", "Expires: Mon, 02 Mar 2026 12:30:00 GMT\nDate: now", "", "12:00", 0, 30 * time.Minute},
		{"Expires in the past", "Expires: 0", "", "12:00", 0, 0},
		{"ttl", "", ttl, "12:00", 0, time.Hour},
		{"ttl without end", "", "<ttl>999999999999</ttl>", "12:00", 0, 24 * time.Hour},
		{"ttl below zero", "", "<ttl>-999999999999</ttl>", "12:00", 0, 0},
		{"the longer one", "Cache-Control: max-age=60", ttl, "12:00", 0, time.Hour},
		{"a day at most", "Cache-Control: max-age=31536000", "", "12:00", 0, 24 * time.Hour},
		{"bounded", "Cache-Control: max-age=31536000", "", "12:00", time.Hour, time.Hour},
		{"bounded, with skipHours", "", "<skipHours><hour>13</hour></skipHours>" + ttl, "12:00", 90 * time.Minute, 90 * time.Minute},
		{"ignored", "Cache-Control: max-age=3600", ttl, "12:00", -1, 0},
		{"hours that are none", "", "<skipHours><hour>x</hour><hour>-1</hour><hour>25</hour></skipHours>" + ttl, "23:30", 0, time.Hour},
		{"hour 25 is not 1", "", "<skipHours><hour>25</hour></skipHours>" + ttl, "00:30", 0, time.Hour},
		{"skipHours", "", "<skipHours><hour>13</hour><hour>14</hour></skipHours>" + ttl, "12:10", 0, 2*time.Hour + 50*time.Minute},
		{"hour 24 is midnight", "", "<skipHours><hour>24</hour></skipHours>" + ttl, "23:10", 0, time.Hour + 50*time.Minute},
		{"skipDays", "", "<skipDays><day>Monday</day></skipDays>", "20:00", 0, 4 * time.Hour},
		{"all hours", "", "<skipDays><day>Monday</day><day>Tuesday</day><day>Wednesday</day><day>Thursday</day><day>Friday</day><day>Saturday</day><day>Sunday</day></skipDays>", "12:00", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock, _ := time.Parse("2006-01-02 15:04", "2026-03-02 "+tt.from)
			start := clock
			f, s := serving(t, func(c *feed.Config) {
				c.MaxPause = tt.most
				c.Now = func() time.Time { return clock }
			}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", clock.Format(http.TimeFormat))
				for line := range strings.SplitSeq(tt.header, "\n") {
					if name, value, ok := strings.Cut(line, ": "); ok {
						w.Header().Set(name, value)
					}
				}
				io.WriteString(w, strings.Replace(items("a"), "<title>", tt.inFeed+"<title>", 1))
			})
			r := newReader(t, f)
			r.read()
			if tt.want > 0 {
				clock = start.Add(tt.want - time.Second)
				if page := r.read(); !page.Unchanged || !page.AsOf.Equal(start) || page.Skipped != 1 || len(s.requests) != 1 {
					t.Errorf("%+v after %d requests, want it unchanged as of %s", page, len(s.requests), start)
				}
				q := r.q
				q.Known = 0 // somebody wants the posts
				if page, err := f.Timeline(t.Context(), q); err != nil || len(page.Tweets)+page.Skipped != 1 {
					t.Errorf("%+v, error %v", page, err)
				}
				s.requests = s.requests[:1]
				clock = start
				r.read()
			}
			clock = start.Add(tt.want + 24*time.Hour)
			n := len(s.requests)
			if page := r.read(); !page.AsOf.IsZero() || len(s.requests) != n+1 {
				t.Errorf("%+v, want it asked for", page)
			}
		})
	}
}

// Requests to one host keep their distance; those that would wait for long are told when
// to come, each at another time, and other hosts do not wait.
func TestHostGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := serving(t, func(c *feed.Config) { c.HostGap = time.Second }, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, items("a")) })
		var mu sync.Mutex
		told := map[time.Duration]bool{}
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				_, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: fmt.Sprintf("%s/%d", feedURL, i)})
				var limit *fetcher.RateLimitError
				mu.Lock()
				defer mu.Unlock()
				if errors.As(err, &limit) && limit.Target {
					told[limit.RetryAfter] = true
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		other := time.Now()
		if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: "https://other.example.com/feed"}); err != nil || time.Since(other) > 0 {
			t.Errorf("another host: error %v after %s", err, time.Since(other))
		}
		wg.Wait()
		if len(told) != 14 {
			t.Errorf("%d were told when to come, want 14: %v", len(told), told)
		}
		var last time.Time
		for i, r := range s.requests {
			if r.URL.Host != "example.com" {
				continue
			}
			if gap := s.times[i].Sub(last); gap < time.Second {
				t.Errorf("requests %s apart, want 1 s", gap)
			}
			last = s.times[i]
		}
	})
}
