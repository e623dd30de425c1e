package detect

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/rule/query"
)

// Which rules the polls of accounts serve.
func TestRulesThatCostNoSearch(t *testing.T) {
	every := func(iv time.Duration, accounts ...string) Subscription {
		s := sub("m", accounts...)
		s.Interval = iv
		return s
	}
	for name, row := range map[string]struct {
		monitors Subscription
		pace     Pace
		query    func(*QuerySubscription)
		covered  bool
	}{
		"all authors are polled as often":   {every(10*time.Second, "nasa", "ESA"), PaceInterval, nil, true},
		"authors in another spelling":       {every(10*time.Second, "nasa", "ESA"), PaceInterval, func(s *QuerySubscription) { s.Authors = []string{"@NASA", "Esa", "nasa"} }, true},
		"more often":                        {every(5*time.Second, "nasa", "esa"), PaceInterval, nil, true},
		"too seldom":                        {every(11*time.Second, "nasa", "esa"), PaceInterval, nil, false},
		"one of them is not":                {every(10*time.Second, "nasa"), PaceInterval, nil, false},
		"none is":                           {every(10*time.Second, "jaxa"), PaceInterval, nil, false},
		"a budget, with a longest time":     {every(10*time.Second, "nasa", "esa"), PaceBudget, nil, true},
		"a budget, without":                 {every(0, "nasa", "esa"), PaceBudget, nil, false},
		"a budget, with a shortest time":    {every(10*time.Second, "nasa", "esa"), PaceAtLeast, nil, false},
		"a query of anybody":                {every(10*time.Second, "nasa", "esa"), PaceInterval, func(s *QuerySubscription) { s.Authors = nil }, false},
		"a query that needs the platform":   {every(10*time.Second, "nasa", "esa"), PaceInterval, func(s *QuerySubscription) { s.Answers = nil }, false},
		"a query that comes by the o'clock": {every(10*time.Second, "nasa", "esa"), PaceInterval, scheduled, false},
	} {
		t.Run(name, func(t *testing.T) {
			tune := func(c *settings) { c.Pace, c.Shards, c.FetchRate = row.pace, 0, 100 }
			inQueries(t, tune, func(t *testing.T, w *searchable, d *Detector) {
				set(t, d, row.monitors)
				s := byAuthors(asks("r", "moon"), "nasa", "esa")
				if row.query != nil {
					row.query(&s)
				}
				setQuery(t, d, s)
				after(time.Second)
				w.say("nasa", "moon p", 0)
				w.say("nasa", "sun q", 0)
				after(time.Minute)
				if _, pages := w.polled("moon"); row.covered != (pages == 0) {
					t.Errorf("%d searches, covered should be %t", pages, row.covered)
				}
				if got := w.got(); !slices.Contains(got, "r:p") || slices.Contains(got, "r:q") {
					t.Errorf("events %v", got)
				}
				for when, plans := range map[string]func() (Plans, error){
					"now":    func() (Plans, error) { return d.Plan(t.Context()) },
					"before": func() (Plans, error) { return d.PlanFor([]Subscription{row.monitors}, []QuerySubscription{s}) },
				} {
					p, err := plans()
					if err != nil || len(p.Queries) != 1 || p.Queries[0].Covered != row.covered || p.Queries[0].CallsPerMinute == 0 != row.covered {
						t.Errorf("plan %s: %+v %v", when, p.Queries, err)
					}
				}
				if n := d.Stats().Queries.Covered; row.covered != (n == 1) {
					t.Errorf("%d covered", n)
				}
			})
		})
	}
}

func scheduled(s *QuerySubscription) {
	cron, err := rule.ParseSchedule("@every 10s")
	if err != nil {
		panic(err)
	}
	s.Interval, s.Next, s.Every = 0, cron.Next, 10*time.Second
}

// Monitors come and go under a rule, which now is searched for and now is not;
// it gets every post, once.
func TestRuleLosesNothingWhenMonitorsComeAndGo(t *testing.T) {
	for _, row := range []struct {
		name string
		pace Pace
	}{{"intervals", PaceInterval}, {"a budget", PaceBudget}} {
		t.Run(row.name, func(t *testing.T) {
			tune := func(c *settings) { c.Pace, c.Shards, c.FetchRate = row.pace, 0, 50 }
			inQueries(t, tune, func(t *testing.T, w *searchable, d *Detector) {
				r := byAuthors(asks("r", "moon"), "nasa", "esa")
				r.MaxResults = 100
				setQuery(t, d, r)
				rnd := rand.New(rand.NewPCG(1, 2))
				var want []string
				watched := false
				switches := 0
				for i := range testsize.Of(200, 400, 400) {
					w.say([]string{"nasa", "esa"}[i%2], fmt.Sprintf("moon p%d", i), time.Duration(rnd.IntN(60))*time.Second)
					want = append(want, fmt.Sprintf("r:p%d", i))
					after(time.Duration(rnd.IntN(4000)) * time.Millisecond)
					if rnd.IntN(15) > 0 {
						continue
					}
					switches++
					if watched = !watched; watched {
						set(t, d, sub("m", "nasa", "esa"))
					} else if err := d.Remove(t.Context(), "m"); err != nil {
						t.Fatal(err)
					}
				}
				after(3 * time.Minute)
				var got []string
				for _, ev := range w.got() {
					if strings.HasPrefix(ev, "r:") {
						got = append(got, ev)
					}
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					missing := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return slices.Contains(got, s) })
					t.Errorf("%d events, want %d; %v are missing", len(got), len(want), missing)
				}
				_, searches := w.polled("moon")
				if s := d.Stats(); switches < 10 || searches < 20 || s.Gaps != 0 {
					t.Errorf("%d switches, %d searches, %d gaps", switches, searches, s.Gaps)
				}
			})
		})
	}
}

// The same over restarts: before each it is decided anew who polls what.
func TestCoveredRuleGoesOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSearchable()
		r, m := byAuthors(asks("r", "moon"), "nasa"), sub("m", "nasa")
		for i := range 50 { // of long ago
			w.say("nasa", fmt.Sprintf("moon old%d", i), 0)
			after(time.Second)
		}
		r.Since = time.Now()
		n, gaps, most := 0, 0, 3
		run := func(subs ...Subscription) {
			d := w.detector(t, func(c *settings) { c.OnGap = func(Gap) { gaps++ } })
			for _, s := range subs {
				set(t, d, s)
			}
			setQuery(t, d, r)
			stop := start(t, d)
			after(time.Minute)
			for range most {
				w.say("nasa", fmt.Sprintf("moon p%d", n), time.Duration(n%3)*10*time.Second)
				n++
				after(10 * time.Second)
			}
			stop()
			w.say("nasa", fmt.Sprintf("moon p%d", n), 0)
			n++
			after(10 * time.Minute)
		}
		run()
		most = 60 // more than a poll may read
		run(m)
		most = 3
		run()
		run(m)
		after(300 * 24 * time.Hour) // what was read then is not read again
		run()
		run(m)
		run(m)
		run()
		run()
		d := w.detector(t, nil)
		setQuery(t, d, r)
		stop := start(t, d)
		after(time.Minute)
		stop()
		if gaps > 0 {
			t.Errorf("%d gaps", gaps)
		}
		var got []string
		for _, ev := range w.got() {
			if strings.HasPrefix(ev, "r:") {
				got = append(got, ev)
			}
		}
		slices.Sort(got)
		want := ids("r", "p", 0, n)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("events %v\nwant   %v", got, want)
		}
	})
}

// timelinesOnly is a Fetcher and no Searcher.
type timelinesOnly struct{ fetcher.Fetcher }

func TestRulesWithoutASearcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSearchable()
		d := w.world.detector(t, func(c *settings) { c.Fetcher = timelinesOnly{w} })
		for _, when := range []string{"before", "while"} {
			if err := d.SetQuery(t.Context(), asks("any", "moon")); !errors.Is(err, ErrNoSearcher) {
				t.Errorf("a query of anybody %s it runs: %v", when, err)
			}
			if when == "before" {
				defer start(t, d)()
			}
		}
		setQuery(t, d, byAuthors(asks("r", "moon"), "nasa"))
		after(time.Second)
		w.say("nasa", "moon p", 0)
		w.say("nasa", "sun q", 0)
		after(11 * time.Second)
		wantEvents(t, w.world, "r:p")
		st, ok, err := d.Account(t.Context(), "nasa")
		if err != nil || !ok || st.Sources != 1 || st.Interval != 10*time.Second {
			t.Errorf("account %+v %t %v", st, ok, err)
		}
		if err := d.RemoveQuery(t.Context(), "r"); err != nil {
			t.Fatal(err)
		}
		if n := d.Stats().Targets; n != 0 {
			t.Errorf("%d accounts are polled for nobody", n)
		}
	})
}

// A budget is for accounts and searches together.
func TestBudgetIsSharedWithSearches(t *testing.T) {
	tune := func(c *settings) { c.Pace, c.Shards, c.FetchRate = PaceBudget, 0, 2 }
	inQueries(t, tune, func(t *testing.T, w *searchable, d *Detector) {
		m := sub("m", "nasa", "esa", "jaxa")
		m.Interval = 0
		set(t, d, m)
		for i := range 4 { // 4 searches each 8 s: half a call a second
			s := asks(fmt.Sprint("r", i), fmt.Sprint("word", i))
			s.Interval = 8 * time.Second
			setQuery(t, d, s)
		}
		after(10 * time.Second)
		before := d.Stats()
		after(100 * time.Second)
		s := d.Stats()
		if calls := s.Calls - before.Calls; calls < 195 || calls > 205 {
			t.Errorf("%d calls in 100 s, want 200", calls)
		}
		if polls := s.Queries.Polls - before.Queries.Polls; polls < 48 || polls > 52 {
			t.Errorf("%d searches, want 50", polls)
		}
		if s.Pace.Budget < 1.45 || s.Pace.Budget > 1.55 {
			t.Errorf("the accounts' budget is %v, want what searches leave of it, 1.5", s.Pace.Budget)
		}
		p, err := d.Plan(t.Context())
		if err != nil || p.Now.CallsPerMinute < 110 || p.Now.CallsPerMinute > 121 || p.Now.Budget != 2 {
			t.Errorf("plan %+v %v", p.Now, err)
		}
	})
}

func TestQuerySubscriptionIsChecked(t *testing.T) {
	d := newSearchableOutside(t)
	for _, row := range []struct {
		change func(*QuerySubscription)
		want   string
	}{
		{func(s *QuerySubscription) { s.Source.ID = "" }, "Source.ID"},
		{func(s *QuerySubscription) { s.Query = "" }, "Query"},
		{func(s *QuerySubscription) { s.Query = strings.Repeat("x", maxQuery+1) }, "Query"},
		{func(s *QuerySubscription) { s.MaxResults = 0 }, "MaxResults"},
		{func(s *QuerySubscription) { s.MaxResults = maxFound + 1 }, "MaxResults"},
		{func(s *QuerySubscription) { s.Interval = 0 }, "Interval"},
		{func(s *QuerySubscription) { s.Interval = maxInterval + 1 }, "Interval"},
		{func(s *QuerySubscription) { s.Next = func(t time.Time) time.Time { return t } }, "Every"},
		{func(s *QuerySubscription) { s.Authors = []string{""} }, "Authors"},
		{func(s *QuerySubscription) {
			s.Query, s.MaxResults, s.Interval = strings.Repeat("x", maxQuery), maxFound, maxInterval
		}, ""},
		{nil, ""},
	} {
		s := asks("r", "moon")
		if row.change != nil {
			row.change(&s)
		}
		err := d.SetQuery(t.Context(), s)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("error %v, want one about %q", err, row.want)
		}
	}
}

func newSearchableOutside(t *testing.T) *Detector {
	w := &searchable{world: &world{cursors: map[string]Cursor{}}}
	return w.detector(t, nil)
}

func TestForRule(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, row := range []struct {
		query, schedule string
		check           bool
		authors         []string
		matches, every  bool
	}{
		{query: "moon from:NASA"},
		{query: "moon from:NASA", check: true, matches: true},
		{query: "moon from:NASA is:verified", check: true}, // the platform alone knows
		{query: "moon", schedule: "@hourly", every: true},
	} {
		r := rule.Rule{ID: "rul_1", Owner: "o", Tag: "t", Query: row.query, Interval: time.Minute, MaxResults: 20, Since: since}
		if row.schedule != "" {
			r.Interval, r.Schedule = 0, row.schedule
		}
		p, _, err := query.Parse(row.query, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		parsed := rule.Parsed{Query: p}
		if row.schedule != "" {
			if parsed.Schedule, err = rule.ParseSchedule(row.schedule); err != nil {
				t.Fatal(err)
			}
		}
		s := ForRule(r, parsed, row.check)
		if err := s.check(true); err != nil {
			t.Fatalf("%s: %v", row.query, err)
		}
		if (s.Match != nil) != row.matches || (s.Next != nil) != row.every || s.Query != p.Canonical() || s.Since != since ||
			s.Source != (deliver.Source{Kind: deliver.SourceRule, ID: "rul_1", Owner: "o", Name: "t"}) {
			t.Errorf("%s: %+v", row.query, s)
		}
		if row.every && s.Every != time.Hour {
			t.Errorf("every %s, want an hour", s.Every)
		}
	}
}

// A plan lists each query once, and says why it costs what it does.
func TestPlanOfQueries(t *testing.T) {
	d := newSearchableOutside(t)
	fast := asks("b", "moon")
	fast.Interval = time.Second
	covered := byAuthors(asks("c", "sun"), "nasa")
	p, err := d.PlanFor([]Subscription{{Accounts: []monitor.Account{{Username: "NASA"}}, Interval: 10 * time.Second}},
		[]QuerySubscription{asks("a", "moon"), fast, covered, asks("d", "earth")})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range p.Queries {
		got = append(got, fmt.Sprintf("%s %v every %s: %g a minute, %s", q.Query, q.Sources, q.Every, q.CallsPerMinute, q.Why))
	}
	want := []string{
		"earth [d] every 10s: 6 a minute, a search of its own",
		"moon [a b] every 1s: 60 a minute, one search for 2 rules",
		"sun [c] every 10s: 0 a minute, no search: the timelines of 1 accounts have its posts",
	}
	if !slices.Equal(got, want) {
		t.Errorf("plan\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if p.Now.CallsPerMinute != 72 {
		t.Errorf("%g calls a minute in all, want 72", p.Now.CallsPerMinute)
	}
}
