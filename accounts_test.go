package streamwatch_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// troubled is a platform with an account for each trouble. Those of bob have the same
// troubles as those of ann.
func troubled(begin time.Time) fetchFunc {
	return func(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
		now := time.Since(begin)
		every, late := time.Minute, time.Second // a post a minute, visible after a second
		switch name := q.Username; {
		case strings.HasPrefix(name, "failing"):
			if name == "failing-now" && now > 20*time.Minute || name != "failing-now" && now > 10*time.Minute {
				return fetcher.Page{}, errors.New("dial tcp 10.1.2.3:80: connection refused")
			}
		case strings.HasPrefix(name, "silent"):
			now = min(now, 30*time.Minute)
		case strings.HasPrefix(name, "slow"):
			late = 40 * time.Second
		}
		var pg fetcher.Page
		for at := (now - late).Truncate(every); at > 0 && len(pg.Tweets) < 20; at -= every {
			pg.Tweets = append(pg.Tweets, fetcher.Tweet{ID: q.Username + at.String(), Username: q.Username, PublishedAt: begin.Add(at)})
		}
		if q.Username == "gappy-ann" && now > 5*time.Minute && len(pg.Tweets) > 3 {
			pg.Tweets = pg.Tweets[:1] // and so many more that one page never reaches back
			pg.Next = "more"
		}
		return pg, nil
	}
}

// An operator sees the accounts that stand worst, in order, and an owner those of its own
// sources, with errors as owners may read them.
func TestWorstAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, streamwatch.Config{Fetcher: troubled(time.Now()), Detect: detect.Config{MaxPages: 1}})
		for owner, names := range map[string][]string{
			"ann": {"failing-ann", "failing-now", "silent-ann", "gappy-ann", "slow-ann", "sound-ann"},
			"bob": {"failing-bob", "silent-bob", "sound-bob", "sound-ann"},
		} {
			create(t, e, monitor.CreateRequest{Owner: owner, Name: "m", Usernames: names, PollInterval: 10 * time.Second})
		}
		defer startEngine(t, e)()
		pass(time.Hour)
		for _, row := range []struct {
			by    detect.WorstBy
			owner string // "" for all
			want  []string
		}{
			{detect.WorstFailing, "", []string{"failing-ann", "failing-bob", "failing-now"}},
			{detect.WorstFailing, "bob", []string{"failing-bob"}},
			{detect.WorstFailing, "eve", nil},
			{detect.WorstSilent, "ann", []string{"silent-ann"}},
			{detect.WorstSilent, "bob", []string{"silent-bob"}},
			{detect.WorstGaps, "", []string{"gappy-ann"}},
			{detect.WorstGaps, "bob", nil},
			{detect.WorstSlow, "ann", []string{"slow-ann"}},
		} {
			list, err := e.WorstAccounts(t.Context(), detect.WorstQuery{By: row.by, Owner: row.owner, All: row.owner == ""})
			var names []string
			for i, st := range list {
				if row.by == detect.WorstSilent && strings.HasPrefix(st.Username, "failing") || row.by == detect.WorstSlow && i > 0 {
					continue // who fails is silent, too; and everybody has a delay
				}
				names = append(names, st.Username)
				if hidden := !strings.Contains(st.Error, "10.1.2.3"); row.by == detect.WorstFailing && hidden != (row.owner != "") {
					t.Errorf("%q is told %q", row.owner, st.Error)
				}
				if i > 0 && st.Rank > list[i-1].Rank {
					t.Errorf("by %d: rank %g after %g", row.by, st.Rank, list[i-1].Rank)
				}
			}
			if row.by == detect.WorstFailing && row.owner == "" && len(names) == 3 {
				slices.Sort(names[:2]) // they have failed for as long
			}
			if err != nil || !slices.Equal(names, row.want) {
				t.Errorf("by %d for %q: %q, %v; want %q", row.by, row.owner, names, err, row.want)
			}
		}
		if list, err := e.WorstAccounts(t.Context(), detect.WorstQuery{By: detect.WorstFailing, All: true, Limit: 2}); len(list) != 2 || err != nil {
			t.Errorf("%d, %v, want the worst 2", len(list), err)
		}
		for _, q := range []detect.WorstQuery{{By: detect.WorstSlow + 1}, {Limit: -1}, {Limit: 1001}} {
			if _, err := e.WorstAccounts(t.Context(), q); err == nil {
				t.Errorf("%+v is allowed", q)
			}
		}
	})
}

// An account tells of its last polls, and an owner nothing of an account of others.
func TestPollsOfAnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, streamwatch.Config{Fetcher: troubled(time.Now())})
		create(t, e, monitor.CreateRequest{Owner: "ann", Name: "m", Usernames: []string{"slow", "failing"}, PollInterval: 10 * time.Second})
		create(t, e, monitor.CreateRequest{Owner: "bob", Name: "m", Usernames: []string{"failing"}, PollInterval: 10 * time.Second})
		if _, err := e.WorstAccounts(t.Context(), detect.WorstQuery{}); !errors.Is(err, streamwatch.ErrNotRunning) {
			t.Errorf("before the start: %v", err)
		}
		defer startEngine(t, e)()
		pass(15*time.Minute + 5*time.Second)
		st, ok, err := e.Account(t.Context(), "slow")
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		found, quiet := 0, 0
		for i, p := range st.Polls {
			if i > 0 && p.Begun.After(st.Polls[i-1].Begun) {
				t.Errorf("%s comes after %s", p.Begun, st.Polls[i-1].Begun)
			}
			switch {
			case p.First:
			case p.Found == 0:
				quiet++
			default:
				found++
				if p.Delay < 40*time.Second || p.LongestWait > 51*time.Second || p.Delay > p.LongestWait {
					t.Errorf("delay %s, the longest %s; want 40 to 50 s", p.Delay, p.LongestWait)
				}
			}
		}
		if found < 13 || quiet < 60 || st.Delay < 40*time.Second {
			t.Errorf("%d polls that found posts, %d that did not, delay %s", found, quiet, st.Delay)
		}
		if of, ok, err := e.AccountOf(t.Context(), "ann", "slow"); !ok || err != nil || len(of.Polls) != len(st.Polls) {
			t.Errorf("its owner sees %d polls, %t, %v", len(of.Polls), ok, err)
		}
		if of, ok, err := e.AccountOf(t.Context(), "bob", "slow"); ok || err != nil || of.Username != "" || of.Polls != nil {
			t.Errorf("another owner sees %+v, %v", of, err)
		}
		st, _, err = e.Account(t.Context(), "failing")
		if err != nil || st.Sources != 2 || st.Polls[0].Error == "" || !strings.Contains(st.Polls[0].Error, "10.1.2.3") {
			t.Errorf("all: %d sources, %+v, %v", st.Sources, st.Polls[0], err)
		}
		st, _, err = e.AccountOf(t.Context(), "bob", "failing")
		if err != nil || st.Sources != 1 || st.Polls[0].Error == "" || strings.Contains(st.Polls[0].Error+st.Error, "10.1.2.3") {
			t.Errorf("bob: %d sources, %+v, %v", st.Sources, st.Polls[0], err)
		}
	})
}

// An owner is told the interval that it asks for itself, though the account is polled more
// often for another.
func TestIntervalOfAnAccountIsItsOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, streamwatch.Config{Fetcher: troubled(time.Now())})
		intervals := map[string]time.Duration{"ann": 10 * time.Second, "bob": time.Minute, "eve": 5 * time.Minute}
		for owner, every := range intervals {
			create(t, e, monitor.CreateRequest{Owner: owner, Name: "m", Usernames: []string{"failing"}, PollInterval: every})
		}
		create(t, e, monitor.CreateRequest{Owner: "eve", Name: "seldom", Usernames: []string{"failing"}, PollInterval: time.Hour})
		defer startEngine(t, e)()
		pass(30 * time.Minute)
		for owner, every := range intervals {
			if st, ok, err := e.AccountOf(t.Context(), owner, "failing"); err != nil || !ok || st.Interval != every {
				t.Errorf("%s: an interval of %s, %v; want %s", owner, st.Interval, err, every)
			}
			worst, err := e.WorstAccounts(t.Context(), detect.WorstQuery{Owner: owner})
			if err != nil || len(worst) != 1 || worst[0].Interval != every {
				t.Errorf("%s: the worst are %+v, %v; want one with an interval of %s", owner, worst, err, every)
			}
		}
		if st, ok, err := e.Account(t.Context(), "failing"); err != nil || !ok || st.Interval != 10*time.Second {
			t.Errorf("of all: an interval of %s, %v; want 10 s", st.Interval, err)
		}
	})
}

// A lane tells how its endpoint stands.
func TestLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sender upOrDown
		sender.down.Store(true)
		begin := time.Now()
		cfg := streamwatch.Config{Fetcher: troubled(begin)}
		cfg.Deliver.Senders = map[string]deliver.Sender{"own": &sender}
		e := newEngine(t, cfg)
		m := create(t, e, monitor.CreateRequest{Owner: "ann", Name: "m", Usernames: []string{"a", "b", "c", "d"}, PollInterval: 10 * time.Second, WebhookURL: "own://somewhere"})
		list, err := e.Endpoints().List(t.Context(), "ann", m.ID)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		id := list[0].ID
		if _, ok := e.Lane(id); ok {
			t.Error("there is a lane before anything was sent")
		}
		defer startEngine(t, e)()
		pass(4 * time.Minute)
		st, ok := e.Lane(id)
		now := time.Now()
		if !ok || st.EndpointID != id || st.Owner != "ann" || st.Gate != "parked" || st.Record != "active" || st.FailingSince.IsZero() ||
			!st.OpenUntil.After(now) || !st.NextTry.Equal(st.OpenUntil) || st.Limit != 1 {
			t.Errorf("one whose breaker is open: %+v", st)
		}
		if all := e.Lanes(10); len(all) != 1 || all[0] != st {
			t.Errorf("lanes %+v", all)
		}
		sender.down.Store(false)
		pass(30 * time.Minute)
		if st, _ := e.Lane(id); st.Gate != "open" || st.Pace != "steady" || !st.OpenUntil.IsZero() || !st.NextTry.IsZero() || !st.FailingSince.IsZero() {
			t.Errorf("one that is up again: %+v", st)
		}
	})
}

// Statistics tell which limits hold calls up, and until when.
func TestClosedLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := fetchFunc(func(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
			return fetcher.Page{}, &fetcher.RateLimitError{RetryAfter: 5 * time.Minute}
		})
		e := newEngine(t, streamwatch.Config{Fetcher: limited})
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: 10 * time.Second})
		defer startEngine(t, e)()
		if closed := e.Stats().Detect.Closed; closed != nil {
			t.Errorf("at first %v", closed)
		}
		pass(time.Minute)
		closed := e.Stats().Detect.Closed
		if wait := time.Until(closed[""]); len(closed) != 1 || wait < 3*time.Minute || wait > 5*time.Minute {
			t.Errorf("closed %v", closed)
		}
	})
}
