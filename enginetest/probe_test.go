package enginetest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
)

// probe asks for accounts that are there.
func probe(t *testing.T, prober fetcher.Prober, accounts []fetcher.Account) []fetcher.Mark {
	t.Helper()
	answer, err := prober.Probe(t.Context(), accounts)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Marks
}

func TestProbeMarks(t *testing.T) {
	for _, tc := range []struct {
		name   string
		cfg    enginetest.ProbeConfig
		script func(p *enginetest.Platform, c *clock)
		want   []bool // of nasa, esa, whom nobody is, and esa by id: the mark changes
	}{
		{"nothing", enginetest.ProbeConfig{}, func(*enginetest.Platform, *clock) {}, []bool{false, false, false, false}},
		{"a post", enginetest.ProbeConfig{}, func(p *enginetest.Platform, c *clock) { p.Post("esa", "x") }, []bool{false, true, false, true}},
		{"a deletion", enginetest.ProbeConfig{}, func(p *enginetest.Platform, c *clock) {
			p.Delete("nasa", p.Posted()[0].ID)
		}, []bool{true, false, false, false}},
		{"a deletion beside a post", enginetest.ProbeConfig{}, func(p *enginetest.Platform, c *clock) {
			p.Post("nasa", "x")
			p.Delete("nasa", p.Posted()[0].ID)
		}, []bool{false, false, false, false}},
		{"a post to come", enginetest.ProbeConfig{}, func(p *enginetest.Platform, c *clock) {
			p.PostAt("nasa", "x", c.now, c.now.Add(time.Second))
		}, []bool{false, false, false, false}},
		{"before the lag is over", enginetest.ProbeConfig{Lag: time.Minute}, func(p *enginetest.Platform, c *clock) {
			p.Post("nasa", "x")
			c.advance(time.Minute - 1)
		}, []bool{false, false, false, false}},
		{"after the lag", enginetest.ProbeConfig{Lag: time.Minute}, func(p *enginetest.Platform, c *clock) {
			p.Post("nasa", "x")
			c.advance(time.Minute)
		}, []bool{true, false, false, false}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newClock()
			p := newPlatform(c, enginetest.PlatformConfig{})
			p.Post("nasa", "before")
			id := p.Post("esa", "before").UserID
			c.advance(time.Hour)
			prober := p.Prober(tc.cfg)
			accounts := []fetcher.Account{{Username: "NASA"}, {Username: "@esa"}, {Username: "nobody"}, {Username: "was", UserID: id}}
			before := probe(t, prober, accounts)
			tc.script(p, c)
			after := probe(t, prober, accounts)
			var changed []bool
			for i := range after {
				changed = append(changed, before[i] != after[i])
			}
			if !slices.Equal(changed, tc.want) || after[2] != fetcher.NoMark || after[0] == fetcher.NoMark || after[1] != after[3] {
				t.Errorf("marks %v, then %v: want these changed: %v", before, after, tc.want)
			}
		})
	}
}

func TestProbeFaults(t *testing.T) {
	var limit *fetcher.RateLimitError
	var status *fetcher.StatusError
	for _, tc := range []struct {
		name string
		cfg  enginetest.PlatformConfig
		good func(error) bool
	}{
		{"a server error", enginetest.PlatformConfig{Faults: enginetest.Faults{ServerError: 1}}, func(err error) bool { return errors.As(err, &status) && status.Code == 503 }},
		{"a cut answer", enginetest.PlatformConfig{Faults: enginetest.Faults{Truncated: 1}}, func(err error) bool { return errors.Is(err, fetcher.ErrMalformed) }},
		{"HTML", enginetest.PlatformConfig{Faults: enginetest.Faults{HTML: 1}}, func(err error) bool { return errors.Is(err, fetcher.ErrMalformed) }},
		{"429", enginetest.PlatformConfig{Faults: enginetest.Faults{RateLimited: 1}}, func(err error) bool { return errors.As(err, &limit) && limit.RetryAfter > 0 }},
		{"a post that is none", enginetest.PlatformConfig{Faults: enginetest.Faults{NullFields: 1}}, func(err error) bool { return err == nil }},
	} {
		prober := newPlatform(newClock(), tc.cfg).Prober(enginetest.ProbeConfig{})
		if answer, err := prober.Probe(t.Context(), named("nasa")); !tc.good(err) || err != nil && answer.Marks != nil {
			t.Errorf("%s: %v, %v", tc.name, answer.Marks, err)
		}
	}
	p := newPlatform(newClock(), enginetest.PlatformConfig{RateLimit: 2})
	prober := p.Prober(enginetest.ProbeConfig{Limit: 2})
	if answer, err := prober.Probe(t.Context(), named("nasa", "esa")); err != nil || !answer.RateLimit.Known || answer.RateLimit.Remaining != 1 {
		t.Errorf("%+v, %v, want one call left", answer.RateLimit, err)
	}
	read(t, p, fetcher.TimelineQuery{Username: "nasa"})
	if _, err := prober.Probe(t.Context(), named("nasa")); !errors.As(err, &limit) {
		t.Errorf("over the limit: %v", err)
	}
	if _, err := prober.Probe(t.Context(), named("nasa", "esa", "nasa")); err == nil || errors.As(err, &limit) {
		t.Errorf("3 accounts where 2 are allowed: %v", err)
	}
	slow := newPlatform(newClock(), enginetest.PlatformConfig{Latency: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := slow.Prober(enginetest.ProbeConfig{}).Probe(ctx, named("nasa")); !errors.Is(err, context.Canceled) || slow.Stats().Canceled != 1 {
		t.Errorf("a context that has ended: %v", err)
	}
}

func TestProbeConfig(t *testing.T) {
	p := newPlatform(newClock(), enginetest.PlatformConfig{})
	for want, cfg := range map[string]enginetest.ProbeConfig{"ProbeConfig.Limit -1": {Limit: -1}, "Lag -1ns": {Lag: -1}} {
		wantPanic(t, want, func() { p.Prober(cfg) })
	}
	prober := p.Prober(enginetest.ProbeConfig{})
	if n := prober.ProbeLimit(); n != 100 {
		t.Errorf("the limit is %d, want 100", n)
	}
	p.SetSuspended("esa", true)
	if marks := probe(t, prober, named("esa")); marks[0] != fetcher.NoMark {
		t.Errorf("a suspended account has the mark %d", marks[0])
	}
	if n := p.Stats(); n.Probes != 1 || n.Requests != 1 {
		t.Errorf("%d probes, %d requests, want one", n.Probes, n.Requests)
	}
}
