package enginetest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
)

func TestFaults(t *testing.T) {
	malformed := func(err error) bool { return errors.Is(err, fetcher.ErrMalformed) }
	for _, tc := range []struct {
		name   string
		faults enginetest.Faults
		is     func(error) bool
		count  func(enginetest.PlatformStats) int
	}{
		{"server error", enginetest.Faults{ServerError: 1}, func(err error) bool {
			var status *fetcher.StatusError
			return errors.As(err, &status) && status.Code == 503
		}, func(s enginetest.PlatformStats) int { return s.ServerError }},
		{"truncated", enginetest.Faults{Truncated: 1}, malformed, func(s enginetest.PlatformStats) int { return s.Truncated }},
		{"HTML", enginetest.Faults{HTML: 1}, malformed, func(s enginetest.PlatformStats) int { return s.HTML }},
		{"rate limited", enginetest.Faults{RateLimited: 1}, func(err error) bool {
			var limited *fetcher.RateLimitError
			return errors.As(err, &limited) && limited.RetryAfter == time.Second
		}, func(s enginetest.PlatformStats) int { return s.RateLimited }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlatform(newClock(), enginetest.PlatformConfig{Faults: tc.faults})
			p.Post("nasa", "x")
			if _, err := p.Timeline(t.Context(), fetcher.TimelineQuery{Username: "nasa"}); !tc.is(err) {
				t.Errorf("error %v is not the fault's", err)
			}
			if s := p.Stats(); tc.count(s) != 1 || s.Requests != 1 {
				t.Errorf("counted %+v, want the one request under its fault", s)
			}
		})
	}
}

// Bogus posts come with the real ones, which stay complete.
func TestBogusPosts(t *testing.T) {
	for _, tc := range []struct {
		name    string
		faults  enginetest.Faults
		forms   int // ways in which a post can be bogus
		isBogus func(tw fetcher.Tweet) int
	}{
		{"null fields", enginetest.Faults{NullFields: 1}, 2, func(tw fetcher.Tweet) int {
			switch {
			case tw.ID == "" && !tw.PublishedAt.IsZero():
				return 1
			case tw.ID != "" && tw.PublishedAt.IsZero():
				return 2
			}
			return 0
		}},
		{"wrong author", enginetest.Faults{WrongAuthor: 1}, 1, func(tw fetcher.Tweet) int {
			if tw.Username != "nasa" && tw.UserID != "100001" {
				return 1
			}
			return 0
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlatform(newClock(), enginetest.PlatformConfig{Faults: tc.faults, PageSize: 3})
			forms := make(map[int]int)
			for range 40 {
				if page := read(t, p, fetcher.TimelineQuery{Username: "nasa"}); len(page.Tweets) != 1 {
					t.Fatalf("an empty timeline has %d posts, want the bogus one", len(page.Tweets))
				}
			}
			for range 3 {
				p.Post("nasa", "x")
			}
			for range 40 {
				page := read(t, p, fetcher.TimelineQuery{Username: "nasa"})
				real := 0
				for _, tw := range page.Tweets {
					if form := tc.isBogus(tw); form > 0 {
						forms[form]++
					} else if tw.Text == "x" {
						real++
					}
				}
				if real != 3 || len(page.Tweets) != 4 {
					t.Fatalf("%d posts, %d of them real, want 4 and 3", len(page.Tweets), real)
				}
			}
			if len(forms) != tc.forms {
				t.Errorf("bogus posts had %d forms, want %d", len(forms), tc.forms)
			}
			if n := len(p.Posted()); n != 3 {
				t.Errorf("Posted has %d posts, want the 3 real ones", n)
			}
		})
	}
}

func TestFaultShares(t *testing.T) {
	run := func(seed uint64) enginetest.PlatformStats {
		p := newPlatform(newClock(), enginetest.PlatformConfig{Seed: seed, Faults: enginetest.Faults{
			ServerError: 0.1, Truncated: 0.1, HTML: 0.1, RateLimited: 0.1, NullFields: 0.1, WrongAuthor: 0.1,
		}})
		for i := range 4000 {
			p.Timeline(t.Context(), fetcher.TimelineQuery{Username: []string{"nasa", "esa"}[i%2]})
		}
		return p.Stats()
	}
	s := run(1)
	for name, n := range map[string]int{
		"ServerError": s.ServerError, "Truncated": s.Truncated, "HTML": s.HTML,
		"RateLimited": s.RateLimited, "NullFields": s.NullFields, "WrongAuthor": s.WrongAuthor,
		"OK, a fourth of it": s.OK / 4,
	} {
		if n < 320 || n > 480 {
			t.Errorf("%s: %d of 4000 requests, want about 400", name, n)
		}
	}
	if s.Requests != 4000 {
		t.Errorf("%d requests counted, want 4000", s.Requests)
	}
	if again := run(1); again != s {
		t.Errorf("the same seed gave %+v, then %+v", s, again)
	}
	if other := run(2); other == s {
		t.Errorf("another seed gave the same %+v", s)
	}
}

func TestRateLimit(t *testing.T) {
	c := newClock()
	p := newPlatform(c, enginetest.PlatformConfig{RateLimit: 2, RateWindow: time.Minute})
	reset := c.now.Add(time.Minute)
	for _, tc := range []struct {
		name      string
		advance   time.Duration
		remaining int
		wait      time.Duration // of a refusal
	}{
		{"the first", 0, 1, 0},
		{"the last of the window", 10 * time.Second, 0, 0},
		{"one too many", 10 * time.Second, 0, 40 * time.Second},
		{"a refusal uses nothing up", 39 * time.Second, 0, time.Second},
		{"the first of the next window", time.Second, 1, 0},
	} {
		c.advance(tc.advance)
		if tc.remaining == 1 {
			reset = c.now.Add(time.Minute)
		}
		page, err := p.Timeline(t.Context(), fetcher.TimelineQuery{Username: "esa"})
		if tc.wait > 0 {
			var limited *fetcher.RateLimitError
			if !errors.As(err, &limited) || limited.RetryAfter != tc.wait {
				t.Errorf("%s: error %v, want a wait of %s", tc.name, err, tc.wait)
			}
			continue
		}
		if want := (fetcher.RateLimit{Known: true, Limit: 2, Remaining: tc.remaining, Reset: reset}); err != nil || page.RateLimit != want {
			t.Errorf("%s: %+v, error %v, want %+v", tc.name, page.RateLimit, err, want)
		}
	}
	if s := p.Stats(); s.OK != 3 || s.RateLimited != 2 {
		t.Errorf("counted %+v, want 3 OK and 2 RateLimited", s)
	}
}

func TestLatencyHonoursTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Latency: 2 * time.Second})
		q := fetcher.TimelineQuery{Username: "account0001"}
		begun := time.Now()
		if _, err := p.Timeline(t.Context(), q); err != nil || time.Since(begun) != 2*time.Second {
			t.Errorf("answer after %s, error %v, want 2s and none", time.Since(begun), err)
		}
		begun = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Timeline(ctx, q); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("answer after %s, error %v, want the deadline after 1s", time.Since(begun), err)
		}
		if s := p.Stats(); s.OK != 1 || s.Canceled != 1 || s.Requests != 2 {
			t.Errorf("counted %+v, want 1 OK and 1 Canceled", s)
		}
	})
}
