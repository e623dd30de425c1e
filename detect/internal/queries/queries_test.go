package queries_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/budget"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/queries"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/lateness"
)

const overlap = 3 * time.Minute

var epoch = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// kit is a shard's queries, with a clock that the test moves.
type kit struct {
	t *testing.T
	*queries.Targets
	env   *poll.Env
	times poll.Times
	now   time.Duration // since epoch
	slow  bool          // commits end when the test calls settle
	open  []*poll.Poll  // whose commits have not ended
}

func newKit(t *testing.T) *kit {
	late, err := lateness.New(lateness.Config{Initial: overlap, Min: overlap, Max: overlap})
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{t: t}
	k.env = &poll.Env{Late: late, Budget: budget.New(budget.Config{Clock: func() int64 { return int64(k.now) }, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}), Epoch: epoch, Clock: func() int64 { return int64(k.now) }, Now: func() time.Time { return epoch.Add(k.now) },
		Horizon: 24 * time.Hour, Rest: poll.Rest{MinBackoff: time.Second, MaxBackoff: time.Minute}, Logger: slog.New(slog.DiscardHandler),
		On: poll.Callbacks{Gap: func(poll.Gap) {}, Trouble: func(poll.Trouble) {}, Account: func() {}}}
	k.Targets = queries.NewTargets(k.env, &k.times, func(p *poll.Poll, _ []deliver.Event) {
		if k.open = append(k.open, p); !k.slow {
			k.settle(nil)
		}
	})
	return k
}

// settle ends the commit that began first.
func (k *kit) settle(err error) {
	p := k.open[0]
	k.open = k.open[1:]
	p.Machine.Settled(p, err)
}

// push has the stream bring a post of a query.
func (k *kit) push(query, id string) {
	post := fetcher.Tweet{ID: id, Text: query, Username: "nasa", PublishedAt: epoch.Add(k.now)}
	k.Pushed.Push(query, poll.Push{Post: post, At: epoch.Add(k.now)})
}

// at moves the clocks.
func (k *kit) at(now time.Duration) *kit {
	k.now = now
	k.times = poll.Times{Now: int64(now), Wall: epoch.Add(now)}
	return k
}

func terms(id, query string, every time.Duration) *queries.Terms {
	return &queries.Terms{Source: poll.Source{Source: deliver.Source{Kind: deliver.SourceRule, ID: id}}, Query: query,
		Interval: every, MaxResults: 20, Since: epoch}
}

func (k *kit) follow(id, query string, every time.Duration) {
	k.Set(id, terms(id, query, every), queries.Start{})
}

// next is when the next query is due, from epoch on; -1 for none.
func (k *kit) next() time.Duration {
	if _, at, ok := k.Sched.Next(); ok {
		return time.Duration(at)
	}
	return -1
}

// begin starts the poll that is due, as a shard does.
func (k *kit) begin() *poll.Poll {
	k.t.Helper()
	slot, at, ok := k.Sched.Next()
	if !ok {
		k.t.Fatal("no query is due")
	}
	k.Sched.Remove(slot)
	return k.Polls.Start(slot, at, epoch.Add(time.Duration(at)))
}

// end has a poll land that read all there was, which are these posts.
func (k *kit) end(p *poll.Poll, posts ...fetcher.Tweet) {
	now := epoch.Add(k.now)
	p.Out = poll.Outcome{Begun: now, Complete: true, Posts: len(posts), Pages: []poll.Page{{Asked: now, At: now, Tweets: posts}}}
	k.Polls.Landed(p)
}

// Rules with one text share a query, which is polled as often as the one that asks
// for it most, and ends with the last of them.
func TestRulesShareAQuery(t *testing.T) {
	k := newKit(t).at(0)
	count := func() int64 { return k.env.Count.Kinds[poll.Queries].Targets.Load() }
	k.follow("a", "moon", time.Minute)
	k.follow("b", "moon", 10*time.Second)
	k.follow("c", "mars", time.Minute)
	if count() != 2 || k.Status("moon").Every != 10*time.Second || k.Status("mars").Every != time.Minute {
		t.Errorf("%d queries, moon every %s and mars every %s: want 2, 10 s and 1 m", count(), k.Status("moon").Every, k.Status("mars").Every)
	}
	k.Set("b", nil, queries.Start{})
	if k.Status("moon").Every != time.Minute {
		t.Errorf("moon every %s after the one that asked for more has left, want 1 m", k.Status("moon").Every)
	}
	k.follow("a", "mars", time.Minute) // takes it from moon, which nobody has then
	if count() != 1 || k.Status("moon").Every != 0 {
		t.Errorf("%d queries, moon every %s: want mars alone", count(), k.Status("moon").Every)
	}
	k.Set("a", nil, queries.Start{})
	k.Set("c", nil, queries.Start{})
	if count() != 0 || k.next() != -1 {
		t.Errorf("%d queries, the next due at %s, want none", count(), k.next())
	}
}

// When a query is due.
func TestWhenAQueryIsDue(t *testing.T) {
	hourly := func(at time.Time) time.Time { return at.Truncate(time.Hour).Add(time.Hour) }
	never := func(time.Time) time.Time { return time.Time{} }
	scheduled := func(id string, next func(time.Time) time.Time) *queries.Terms {
		s := terms(id, "moon", 0)
		s.Next, s.Every = next, time.Hour
		return s
	}
	spread := func() *queries.Terms {
		s := terms("a", "moon", time.Minute)
		s.Spread = true
		return s
	}
	for name, row := range map[string]struct {
		do          func(k *kit)
		least, most time.Duration // -1 for never
	}{
		"a new one at once":                  {func(k *kit) { k.follow("a", "moon", time.Minute) }, 0, 0},
		"one that is spread in its interval": {func(k *kit) { k.Set("a", spread(), queries.Start{}) }, 1, time.Minute},
		"one with a schedule by that":        {func(k *kit) { k.Set("a", scheduled("a", hourly), queries.Start{}) }, time.Hour, time.Hour},
		"one whose schedule has ended":       {func(k *kit) { k.Set("a", scheduled("a", never), queries.Start{}) }, -1, -1},
		"the earlier of two schedules": {func(k *kit) {
			k.Set("a", scheduled("a", never), queries.Start{})
			k.Set("b", scheduled("b", hourly), queries.Start{})
		}, time.Hour, time.Hour},
		"the interval where it is shorter than a schedule": {func(k *kit) {
			k.follow("a", "moon", time.Minute)
			k.end(k.begin())
			k.Set("b", scheduled("b", hourly), queries.Start{})
		}, 1, time.Minute},
		"after a poll by its interval": {func(k *kit) {
			k.follow("a", "moon", time.Minute)
			k.at(time.Second).end(k.begin())
		}, time.Second + 1, 61 * time.Second},
		"at once again, where a rule joined during the poll": {func(k *kit) {
			k.follow("a", "moon", time.Minute)
			p := k.begin()
			k.at(time.Second).follow("b", "moon", time.Minute)
			k.end(p)
		}, time.Second, time.Second},
		"no sooner, where a rule's other terms changed during the poll": {func(k *kit) {
			k.follow("a", "moon", time.Minute)
			p := k.begin()
			k.at(time.Second).follow("a", "moon", 50*time.Second)
			k.end(p)
		}, time.Second + 1, 51 * time.Second},
		"no sooner, where a rule's other terms changed": {func(k *kit) {
			k.follow("a", "moon", time.Minute)
			k.at(time.Second).end(k.begin())
			k.at(2*time.Second).follow("a", "moon", time.Minute)
		}, 2*time.Second + 1, 61 * time.Second},
		"sooner, where a rule asks for it more often": {func(k *kit) {
			k.follow("a", "moon", time.Hour)
			k.at(time.Second).end(k.begin())
			k.at(2*time.Second).follow("a", "moon", 10*time.Second)
		}, 2*time.Second + 1, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t).at(0)
			row.do(k)
			if got := k.next(); got < row.least || got > row.most {
				t.Errorf("due after %s, want %s to %s", got, row.least, row.most)
			}
		})
	}
}

// Who polls next where accounts and queries are due.
func TestTurn(t *testing.T) {
	const sec = int64(time.Second)
	for name, row := range map[string]struct {
		due, account, now    int64 // in seconds; -1 for no query
		takesTurns, accounts bool  // always due, and had the last turn
		turn                 bool
	}{
		"no query":                                  {due: -1, account: 5, now: 9},
		"none is due yet":                           {due: 10, account: 20, now: 9},
		"no account is due":                         {due: 5, account: 20, now: 9, turn: true},
		"the query is due first":                    {due: 5, account: 6, now: 9, turn: true},
		"the account is due first":                  {due: 6, account: 5, now: 9},
		"accounts are always due, and had a turn":   {due: 5, account: 0, now: 9, takesTurns: true, accounts: true, turn: true},
		"accounts are always due but now":           {due: 5, account: 20, now: 9, takesTurns: true, turn: true},
		"accounts are always due, and it is theirs": {due: 5, account: 0, now: 9, takesTurns: true},
	} {
		k := newKit(t)
		if row.due >= 0 {
			k.at(time.Duration(row.due*sec)).follow("a", "moon", time.Minute)
		}
		k.AccountsHadLast = row.accounts
		turn, at := k.Turn(row.account*sec, row.now*sec, row.takesTurns)
		want := row.due * sec
		if row.due < 0 {
			want = queries.Never
		}
		if turn != row.turn || at != want {
			t.Errorf("%s: turn %t, due at %d, want %t and %d", name, turn, at, row.turn, want)
		}
	}
}

// A poll reads as many posts as the rule that wants most, back to the overlap
// before the last complete poll, and no further than any rule wants.
func TestPlan(t *testing.T) {
	k := newKit(t).at(time.Hour)
	few, many := terms("a", "moon", time.Minute), terms("b", "moon", time.Minute)
	many.MaxResults, many.Since = 100, epoch.Add(50*time.Minute)
	few.Since = epoch.Add(55 * time.Minute)
	few.ID, many.ID = "b", "a"
	k.Set("a", many, queries.Start{})
	k.Set("b", few, queries.Start{})
	p := k.begin()
	if p.Plan.Limit != 100 || p.Plan.Search.Query != "moon" || !p.Plan.Cutoff.Equal(many.Since) || !p.Plan.Blank || p.Plan.Expected {
		t.Errorf("first plan %+v, want 100 posts of moon back to %s", p.Plan, many.Since)
	}
	k.end(p, fetcher.Tweet{ID: "1", Text: "moon", PublishedAt: epoch.Add(59 * time.Minute)})
	k.at(time.Hour + time.Minute)
	p = k.begin()
	if want := epoch.Add(time.Hour - overlap); !p.Plan.Cutoff.Equal(want) || !p.Plan.Since.Equal(epoch.Add(time.Hour)) {
		t.Errorf("second plan back to %s of a poll at %s, want back to %s", p.Plan.Cutoff, p.Plan.Since, want)
	}
	if p.Plan.Blank || !p.Plan.Expected || !p.Plan.Set.Has("1") {
		t.Errorf("second plan %+v, want it to know the first one's post", p.Plan)
	}
}

// A rule that joins a query is read for from where it says, first thing; until then
// its reading ends there, and a restart has to begin there.
func TestRuleThatJoins(t *testing.T) {
	k := newKit(t).at(time.Hour)
	k.follow("a", "moon", time.Minute)
	k.end(k.begin())
	k.at(2 * time.Hour)
	from, read := epoch.Add(30*time.Minute), epoch.Add(90*time.Minute)
	first := k.begin()
	k.Set("b", terms("b", "moon", time.Minute), queries.Start{From: from, Read: read})
	joined := func(p *poll.Poll) (from time.Time, ok bool) { // what a reader lacks for which the poll is not made
		var v poll.View
		k.View(p, &v)
		for _, r := range v.Readers {
			if r.Fresh && !r.Covered {
				return r.From, true
			}
		}
		return from, false
	}
	if since, ok := joined(first); !ok || !since.Equal(read) {
		t.Errorf("the next process begins at %s, %t, want %s: the poll under way does not read for it", since, ok, read)
	}
	k.end(first)
	if got := k.ReadFor("moon", "b"); !got.Equal(read) {
		t.Errorf("read for the one that joined until %s, want %s", got, read)
	}
	second := k.begin()
	if !second.Plan.Cutoff.Equal(from) || !second.Plan.Joins.Equal(read) {
		t.Errorf("plan back to %s, joining at %s, want %s and %s", second.Plan.Cutoff, second.Plan.Joins, from, read)
	}
	if _, ok := joined(second); ok {
		t.Error("the poll reads for it, and the next process should too")
	}
	k.at(2*time.Hour + time.Second).end(second)
	for _, id := range []string{"a", "b"} {
		if got, want := k.ReadFor("moon", id), epoch.Add(k.now); !got.Equal(want) {
			t.Errorf("read for %s until %s, want %s", id, got, want)
		}
	}
	if got := k.ReadFor("moon", "c"); !got.IsZero() {
		t.Errorf("read until %s for a rule that is not there", got)
	}
}

// A query that is given up, or whose rules end here with their process, leaves a cursor behind
// what a rule that has joined lacks, however long ago within the horizon.
func TestCursorOfARuleThatJoined(t *testing.T) {
	const back = 24 * time.Hour // the horizon
	for name, row := range map[string]struct {
		first, joins bool          // whether the query was polled, and a rule joins it then
		read         time.Duration // of that rule, before now
		want         time.Duration // of the cursor, before now; 0 for none
	}{
		"nobody joins":               {first: true},
		"it lacks much":              {first: true, joins: true, read: 2 * time.Hour, want: 2 * time.Hour},
		"it lacks too much":          {first: true, joins: true, read: 40 * time.Hour, want: back},
		"it lacks what is looked at": {first: true, joins: true, read: overlap / 2},
		"it lacks nothing":           {first: true, joins: true},
		"nothing was read":           {joins: true, read: time.Hour},
	} {
		for _, polled := range []bool{false, true} {
			k := newKit(t).at(100 * time.Hour)
			k.follow("a", "moon", time.Minute)
			k.follow("c", "mars", time.Minute)
			if row.first {
				k.end(k.begin())
				k.end(k.begin())
			}
			ago := func(d time.Duration) time.Time { return epoch.Add(k.now - d) }
			if row.joins {
				k.Set("b", terms("b", "moon", time.Minute), queries.Start{From: ago(row.read), Read: ago(row.read)})
			}
			var late []time.Duration // of the cursors to store
			for slot, c := range k.Behind("b") {
				late = append(late, epoch.Add(k.now).Sub(c.Since))
				if k.Key(slot) != queries.Target("moon") {
					t.Errorf("%s: the cursor of %s is stored", name, k.Key(slot))
				}
			}
			if want := row.want > 0; len(late) != map[bool]int{true: 1}[want] || want && late[0] != row.want {
				t.Errorf("%s: cursors of %v ago are stored, want %s, 0 for none", name, late, row.want)
			}
			if n := len(k.Behind("none")) + len(k.Behind("a")); n != 0 {
				t.Errorf("%s: %d cursors are stored for a rule that lacks nothing", name, n)
			}
			var p *poll.Poll
			if polled {
				for p == nil || p.Name != "moon" {
					if p = k.begin(); p.Name != "moon" {
						k.end(p)
					}
				}
			}
			lacking := k.GiveUp(func(text string) bool { return text != "moon" })
			c := lacking["moon"]
			if lacks := row.first && row.joins && row.read > 0; (c != nil) != lacks || len(lacking) > 1 || lacks && !c.Since.Equal(ago(min(row.read, back))) {
				t.Errorf("%s: given up with %v, want the cursor of what is lacking: %t", name, c, lacks)
			}
			k.follow("a", "moon", time.Minute) // the query is back
			if p != nil {
				k.end(p, fetcher.Tweet{ID: "1", Text: "moon", PublishedAt: epoch.Add(k.now)})
			}
			st, n := k.Status("moon"), k.env.Count.Kinds[poll.Queries].Targets.Load()
			if !st.Since.IsZero() || n != 2 || k.ReadFor("moon", "b") != (time.Time{}) {
				t.Errorf("%s, polled %t: %d queries, moon was read until %v: want 2, and moon anew", name, polled, n, st.Since)
			}
			if k.end(k.begin()); k.Status("moon").Since.IsZero() && k.Status("mars").Since.IsZero() {
				t.Errorf("%s: no query is polled any more", name)
			}
		}
	}
}

// Queries keep to names of bounded length that no two of them share.
func TestTarget(t *testing.T) {
	seen := map[string]string{}
	for _, n := range []int{0, 1, 499, 500, 501, 502, 100_000} {
		for _, letter := range []string{"a", "b"} {
			text := strings.Repeat(letter, n)
			name := queries.Target(text)
			if len(name) > 506 || !strings.HasPrefix(name, "query:") || n <= 500 && name != "query:"+text {
				t.Errorf("%d letters: target of %d bytes, %.20s…", n, len(name), name)
			}
			if other, taken := seen[name]; taken && other != text {
				t.Errorf("%d letters: the target of another query", n)
			}
			seen[name] = text
		}
	}
}

// Queries that come and go use the same slots, and none is given to two.
func TestSlotsAreUsedAgain(t *testing.T) {
	k := newKit(t).at(0)
	for round := range 5 {
		for i := range 50 {
			k.follow(fmt.Sprint(i), fmt.Sprintf("moon%d-%d", round, i), time.Minute)
		}
		var polls []*poll.Poll
		var slots []int32
		for range 50 {
			p := k.begin()
			polls, slots = append(polls, p), append(slots, p.Slot)
		}
		slices.Sort(slots)
		if n := len(slices.Compact(slots)); n != 50 || slots[n-1] >= 50 {
			t.Errorf("round %d: %d slots up to %d for 50 queries", round, n, slots[n-1])
		}
		for i, p := range polls {
			id := strings.TrimPrefix(p.Name, fmt.Sprintf("moon%d-", round))
			if i%2 == 0 { // some end before their rule leaves, some after
				k.end(p)
			}
			k.Set(id, nil, queries.Start{})
			if i%2 == 1 {
				k.end(p)
			}
		}
	}
}
