package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// ofPlatform are the events of a platform.
func ofPlatform(in *inbox, platform string) (list []deliver.Event) {
	for _, e := range in.events() {
		if e.Platform == platform {
			list = append(list, e)
		}
	}
	return list
}

// Two platforms have accounts of one name, and posts with one id.
func TestSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 1, Accounts: []string{"nasa"}})
		two := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 1, Accounts: []string{"nasa"}})
		var in inbox
		cfg := streamwatch.Config{Store: memory.New(memory.Options{}), OnEvent: in.handle, Sources: []streamwatch.Source{
			{Name: "alpha", Fetcher: one, Detect: detect.Config{FetchRate: 5}}, {Name: "beta", Fetcher: two}}}
		e := newEngine(t, cfg)
		stop := startEngine(t, e)
		m := create(t, e, monitor.CreateRequest{Name: "both", Usernames: []string{"alpha:nasa", "beta:NASA"}})
		pass(2 * time.Minute)
		a, b := one.Post("nasa", "hello"), two.Post("nasa", "hello")
		if a.ID != b.ID {
			t.Fatalf("ids %s and %s, want the same on both platforms", a.ID, b.ID)
		}
		pass(2 * time.Minute)
		for _, name := range []string{"alpha", "beta"} {
			got := ofPlatform(&in, name)
			if len(got) != 1 || got[0].TweetID != a.ID || got[0].Source.ID != m.ID || !strings.Contains(string(got[0].Body), `"platform":"`+name+`"`) {
				t.Errorf("events of %s: %+v", name, got)
			}
		}
		st := e.Stats()
		if st.Detect.Targets != 1 || st.Sources["alpha"].Events != 1 || st.Sources["beta"].Events != 1 {
			t.Errorf("stats of sources: %+v", st.Sources)
		}
		for _, name := range []string{"nasa", "alpha:nasa", "beta:nasa", "@beta:Nasa"} {
			if acc, known, err := e.Account(t.Context(), name); !known || err != nil || !strings.Contains(acc.Username, ":") {
				t.Errorf("account %s: %+v, %v, %v", name, acc, known, err)
			}
		}
		plan, err := e.Plan(t.Context())
		if err != nil || plan.Accounts != 2 || plan.Sources["beta"].Accounts != 1 || plan.Now.CallsPerMinute != 2*plan.Sources["alpha"].Now.CallsPerMinute {
			t.Errorf("plan %+v: %v", plan, err)
		}
		ok(t, e.SpendOn(t.Context(), "alpha"))
		if err := e.SpendOn(t.Context(), "gamma"); err == nil {
			t.Error("a call of an unknown source is taken from no budget")
		}
		stop()

		one.Post("nasa", "again")
		pass(time.Hour)
		e = newEngine(t, cfg)
		defer startEngine(t, e)()
		pass(2 * time.Minute)
		if a, b := len(ofPlatform(&in, "alpha")), len(ofPlatform(&in, "beta")); a != 2 || b != 1 {
			t.Errorf("%d events of alpha and %d of beta after a restart, want 2 and 1", a, b)
		}
		ok(t, second(e.Monitors().Update(t.Context(), "", m.ID, monitor.UpdateRequest{Usernames: &[]string{"alpha:nasa"}})))
		if st := e.Stats(); st.Sources["beta"].Targets != 0 {
			t.Errorf("beta still polls: %+v", st.Sources["beta"])
		}
	})
}

// An account is on the source that it is written with. Without one it is on the only source, or the
// one without a name, or it is refused.
func TestAccountsOfSources(t *testing.T) {
	p := enginetest.NewPlatform(enginetest.PlatformConfig{})
	plain := func(name string) error {
		if strings.ContainsAny(name, ".:/@") {
			return errors.New("a plain name")
		}
		return nil
	}
	alpha, beta := streamwatch.Source{Name: "alpha", Fetcher: p}, streamwatch.Source{Name: "beta", Fetcher: p, CheckAccount: plain}
	several := streamwatch.Config{Sources: []streamwatch.Source{alpha, beta}}
	one := streamwatch.Config{Sources: []streamwatch.Source{beta}}
	both := streamwatch.Config{Fetcher: p, CheckAccount: plain, Sources: []streamwatch.Source{alpha}}
	loose := streamwatch.Config{Fetcher: p, Sources: []streamwatch.Source{alpha}}
	for _, c := range []struct {
		cfg           streamwatch.Config
		account, want string // where it is, or what is allowed
	}{
		{several, "alpha:nasa", "alpha nasa"},
		{several, "@Beta:@NASA", "beta NASA"},
		{several, "alpha:m:nasa", "alpha m:nasa"},
		{several, "alpha:https://example.com/a", "alpha https://example.com/a"},
		{several, "beta:a.b", "want a plain name"},
		{several, "nasa", "want the name of a source (alpha, beta), a colon and an account name"},
		{several, "did:plc:nasa", "want the name of a source (alpha, beta), a colon and an account name"},
		{several, "gamma:nasa", "want the name of a source (alpha, beta), a colon and an account name"},
		{several, "https://example.com/", "want the name of a source (alpha, beta), a colon and an account name"},
		{several, "alpha:", "want an account name after the name of the source"},
		{several, "alpha:..", "want handles of"},
		{one, "nasa", "beta nasa"},
		{one, "beta:nasa", "beta nasa"},
		{one, "https://example.com/@nasa", "want a plain name"},
		{both, "nasa", " nasa"},
		{both, "@nasa", " nasa"},
		{both, "alpha:nasa", "alpha nasa"},
		{both, "https://example.com/@nasa", "want a plain name"},
		{both, "gamma:nasa", "want a plain name"},
		{loose, "did:plc:nasa", " did:plc:nasa"},
		{loose, "gamma:nasa", "want an account name, alone or after the name of a source (alpha) and a colon"},
		{streamwatch.Config{Fetcher: p}, "m:nasa", " m:nasa"},
		{streamwatch.Config{Fetcher: p}, "..", "want handles of"},
		{streamwatch.Config{Fetcher: p}, ".", "want handles of"},
	} {
		e := newEngine(t, c.cfg)
		_, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "m", Usernames: []string{c.account}})
		source, name, again := e.Source(c.account)
		if err == nil {
			if got := source.Name + " " + name; got != c.want || again != nil || source.Fetcher == nil {
				t.Errorf("account %s is on %q, %v, want %q", c.account, got, again, c.want)
			}
			continue
		}
		var field *monitor.FieldError
		if !errors.As(err, &field) || field.Wire != "usernames" || !strings.Contains(err.Error(), c.want) || again == nil || again.Error() != err.Error() {
			t.Errorf("account %s: error %v, Source says %v, want %q", c.account, err, again, c.want)
		}
	}
}

// A rule is for one source, which it may leave out where accounts may.
func TestRulesOfSources(t *testing.T) {
	p := enginetest.NewPlatform(enginetest.PlatformConfig{})
	sources := []streamwatch.Source{{Name: "alpha", Fetcher: p}, {Name: "beta", Fetcher: p}}
	for _, c := range []struct {
		cfg            streamwatch.Config
		platform, want string // of the error, none for ""
	}{
		{streamwatch.Config{Sources: sources}, "beta", ""},
		{streamwatch.Config{Sources: sources}, "gamma", `Platform "gamma" is not allowed: want one of alpha, beta`},
		{streamwatch.Config{Sources: sources}, "", `Platform "" is not allowed: want one of alpha, beta`},
		{streamwatch.Config{Sources: sources[:1]}, "", ""},
		{streamwatch.Config{Fetcher: p, Sources: sources}, "", ""},
		{streamwatch.Config{Fetcher: p}, "alpha", `Platform "alpha" is not allowed: want no platform: there is only one`},
	} {
		e := newEngine(t, c.cfg)
		r, err := e.Rules().Create(t.Context(), rule.CreateRequest{Tag: "r", Query: "moon", Interval: time.Minute, Platform: c.platform})
		if c.want == "" {
			ok(t, err)
			_, err = e.Rules().Pause(t.Context(), "", r.ID)
			ok(t, err)
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("platform %q: %v, want %q", c.platform, err, c.want)
		}
	}
}

// halfProber and halfStreamer have one of the two methods of a role.
type (
	halfProber   struct{ fetcher.Fetcher }
	halfStreamer struct{ fetcher.Fetcher }
	whole        struct {
		*enginetest.Platform
		*enginetest.Prober
		*enginetest.PlatformStreamer
	}
)

func (halfProber) Probe(context.Context, []fetcher.Account) (fetcher.Probe, error) {
	return fetcher.Probe{}, nil
}

func (halfStreamer) Stream(context.Context, fetcher.StreamQuery, func(fetcher.Signal) error) error {
	return nil
}

// A Fetcher gives the roles that it has the methods of: all of them with what they need, and none in
// silence.
func TestRolesOfTheFetcher(t *testing.T) {
	p := platformOf("nasa")
	prober, streamer := p.Prober(enginetest.ProbeConfig{}), p.Streamer(enginetest.StreamConfig{})
	for _, c := range []struct {
		cfg  streamwatch.Config
		want string
	}{
		{streamwatch.Config{Fetcher: halfProber{p}}, "Config.Fetcher has the method Probe alone: want ProbeLimit, too, or a fetcher.Prober in Roles.Probe"},
		{streamwatch.Config{Fetcher: halfStreamer{p}}, "Config.Fetcher has the method Stream alone: want Brings, too, or a fetcher.Streamer in Roles.Stream"},
		{streamwatch.Config{Sources: []streamwatch.Source{{Name: "a", Fetcher: halfProber{p}}}}, "Config.Sources[0].Fetcher has the method Probe alone"},
		{streamwatch.Config{Fetcher: halfStreamer{p}, Roles: fetcher.Roles{Stream: streamer}}, ""},
		{streamwatch.Config{Fetcher: halfProber{p}, Roles: fetcher.Roles{Probe: prober}, Detect: detect.Config{ProbeRate: 1}}, ""},
		{streamwatch.Config{Fetcher: p, Detect: detect.Config{ProbeRate: 1}}, "ProbeRate 1 is not allowed: want 0 without Roles.Probe"},
		{streamwatch.Config{Fetcher: whole{p, prober, streamer}, Detect: detect.Config{Pace: detect.PaceAtLeast, FetchRate: 1}}, ""},
	} {
		if _, err := streamwatch.New(c.cfg); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: error %v, want %q", c.cfg.Fetcher, err, c.want)
		}
	}
	for _, c := range []struct {
		cfg            detect.Config
		roles          fetcher.Roles
		probes, stream bool
	}{
		{detect.Config{}, fetcher.Roles{}, false, true},
		{detect.Config{ProbeRate: 1}, fetcher.Roles{}, true, true},
		{detect.Config{Pace: detect.PaceBudget, FetchRate: 1}, fetcher.Roles{}, true, true},
		{detect.Config{}, fetcher.Roles{SearchStream: streamer}, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := platformOf("nasa")
			f := whole{p, p.Prober(enginetest.ProbeConfig{}), p.Streamer(enginetest.StreamConfig{})}
			if c.roles.SearchStream != nil {
				c.roles.SearchStream = f.PlatformStreamer
			}
			e := running(t, streamwatch.Config{Fetcher: f, Roles: c.roles, Detect: c.cfg})
			create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}})
			pass(5 * time.Minute)
			if st := e.Stats().Detect; (st.Probes.Calls > 0) != c.probes || st.Stream.Connected != c.stream {
				t.Errorf("%+v: %d probes, stream %t, want probes %t and stream %t", c.cfg, st.Probes.Calls, st.Stream.Connected, c.probes, c.stream)
			}
		})
	}
}

// What a source could not read is told with its name, as the account was written.
func TestSourcesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 1, Accounts: []string{"nasa"}})
		var mu sync.Mutex
		var gaps, troubles []string
		e := running(t, streamwatch.Config{
			OnGap:     func(g detect.Gap) { mu.Lock(); defer mu.Unlock(); gaps = append(gaps, g.Target) },
			OnTrouble: func(t detect.Trouble) { mu.Lock(); defer mu.Unlock(); troubles = append(troubles, t.Username) },
			Sources:   []streamwatch.Source{{Name: "alpha", Fetcher: p}, {Name: "beta", Fetcher: p, Detect: detect.Config{MaxPages: 1}}},
		})
		m := create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"beta:nasa", "beta:nobody"}})
		pass(2 * time.Minute)
		for i := range 60 {
			p.Post("nasa", fmt.Sprint(i))
		}
		pass(2 * time.Minute)
		got, err := e.Monitors().Get(t.Context(), "", m.ID)
		ok(t, err)
		mu.Lock()
		defer mu.Unlock()
		if len(gaps) == 0 || gaps[0] != "beta/account:nasa" {
			t.Errorf("gaps of %v, want beta/account:nasa", gaps)
		}
		if len(troubles) == 0 || troubles[0] != "beta:nobody" || !strings.Contains(got.StatusReason, "@beta:nobody") {
			t.Errorf("troubles of %v, status reason %q, want beta:nobody", troubles, got.StatusReason)
		}
	})
}

// A source that is over its limit leaves the others alone, and misses nothing itself.
func TestSourceClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var in inbox
		cfg := streamwatch.Config{OnEvent: in.handle}
		platforms := map[string]*enginetest.Platform{"closed": platformOf("nasa"), "open": platformOf("nasa")}
		until := time.Now().Add(20 * time.Minute)
		for name, p := range platforms {
			cfg.Sources = append(cfg.Sources, streamwatch.Source{Name: name, Fetcher: fetchFunc(func(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
				if wait := time.Until(until); name == "closed" && wait > 0 && wait < 15*time.Minute {
					return fetcher.Page{}, &fetcher.RateLimitError{RetryAfter: wait}
				}
				return p.Timeline(ctx, q)
			})})
		}
		e := running(t, cfg)
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"closed:nasa", "open:nasa"}, PollInterval: 10 * time.Second})
		pass(time.Minute)
		for range 30 {
			for _, p := range platforms {
				p.Post("nasa", "a post")
			}
			pass(time.Minute)
		}
		for _, ev := range ofPlatform(&in, "open") {
			if ev.Latency > 11*time.Second {
				t.Errorf("a post of the source that was open came after %s", ev.Latency)
			}
		}
		if a, b := len(ofPlatform(&in, "closed")), len(ofPlatform(&in, "open")); a != 30 || b != 30 {
			t.Errorf("%d posts of the source that was closed, and %d of the other; want 30 of each", a, b)
		}
	})
}

// An account that a monitor names twice, with its source and without, is one account: in the quota,
// in what is read of it, and in what is told of it.
func TestAccountNamedTwiceIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := platformOf("ann", "bob")
		e := running(t, streamwatch.Config{Quotas: streamwatch.Quotas{MonitorAccounts: 2}, Sources: []streamwatch.Source{{Name: "one", Fetcher: one}}})
		m := create(t, e, monitor.CreateRequest{Name: "m", PollInterval: time.Second,
			Usernames: []string{"ann", "one:ann", "@ONE:Ann", "one:@ann", "@ann", "one:bob", "bob"}}).Monitor
		began := m.Accounts[0].Since
		one.SetSuspended("ann", true)
		for i, row := range []struct{ names, want []string }{
			{[]string{"ann", "one:bob"}, []string{"ann", "one:bob"}},
			{[]string{"one:@ann", "one:bob", "ann"}, []string{"one:ann", "one:bob"}},
			{[]string{"@ann"}, []string{"ann"}},
		} {
			if i > 0 {
				u, err := e.Monitors().Update(t.Context(), "", m.ID, monitor.UpdateRequest{Usernames: &row.names})
				ok(t, err)
				m = u.Monitor
			}
			if got := m.Usernames(); !slices.Equal(got, row.want) || !m.Accounts[0].Since.Equal(began) {
				t.Errorf("accounts %q, the first of which begins %s; want %q, and %s, when it was added", got, m.Accounts[0].Since, row.want, began)
			}
			pass(time.Hour)
			if got, err := e.Monitors().Get(t.Context(), "", m.ID); err != nil || !strings.Contains(got.StatusReason, "@one:ann") {
				t.Errorf("reason %q, %v, want that of the account, however it is written", got.StatusReason, err)
			}
		}
	})
}
