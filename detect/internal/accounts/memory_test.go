package accounts

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/budget"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/lateness"
	"github.com/streamwatch/streamwatch/monitor"
)

// fleet is accounts that are polled one after the other.
type fleet struct {
	*Targets
	times poll.Times
	pages []fetcher.Tweet
}

var epoch = time.Unix(1_800_000_000, 0)

func newFleet(t *testing.T, n int) *fleet {
	late, err := lateness.New(lateness.Config{Initial: time.Minute, Min: time.Minute, Max: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{times: poll.Times{Wall: epoch}}
	clock, now := func() int64 { return f.times.Now }, func() time.Time { return f.times.Wall }
	quiet := slog.New(slog.DiscardHandler)
	env := &poll.Env{Late: late, Budget: budget.New(budget.Config{Clock: clock, Now: now, Logger: quiet}), Epoch: epoch, Clock: clock, Now: now,
		Horizon: time.Hour, MaxOverlap: time.Minute, Rest: poll.Rest{MinBackoff: time.Second, MaxBackoff: time.Minute}, Logger: quiet,
		On: poll.Callbacks{Gap: func(poll.Gap) {}, Trouble: func(poll.Trouble) {}, Account: func() {}}}
	f.Targets = NewTargets(env, &f.times, func(p *poll.Poll, _ []deliver.Event) { p.Machine.Settled(p, nil) })
	sub := &Subscription{Terms: Terms{Source: poll.Source{Source: deliver.Source{ID: "m"}}, Interval: time.Minute, Weight: 1}}
	for i := range n {
		name := fmt.Sprintf("an_account_%d", i)
		sub.All = append(sub.All, monitor.Account{Username: name, Since: epoch})
		sub.Mine = append(sub.Mine, Account{Hash: HashName(name), Index: i})
	}
	f.SetSubscription(sub)
	for i := range 20 {
		f.pages = append(f.pages, fetcher.Tweet{ID: fmt.Sprint(1_900_000_000_000_000_000 + int64(i)), PublishedAt: epoch.Add(-time.Hour)})
	}
	return f
}

// round polls each account, an hour after the last time.
func (f *fleet) round(err error) {
	f.times = poll.Times{Now: f.times.Now + int64(time.Hour), Wall: f.times.Wall.Add(time.Hour)}
	for slot := range f.size {
		if f.at(slot).Watched {
			f.poll(slot, err)
		}
	}
}

func (f *fleet) poll(slot int32, err error) {
	f.Sched.Next(f.times.Now, false)
	p := f.Polls.Start(slot, f.times.Now, f.times.Wall)
	p.Out = poll.Outcome{Begun: f.times.Wall, Err: err, Pages: p.Out.Pages[:0]}
	if err == nil {
		p.Out.Complete, p.Out.Posts = true, len(f.pages)
		p.Out.Pages = append(p.Out.Pages, poll.Page{Asked: f.times.Wall, At: f.times.Wall, Tweets: f.pages})
	}
	f.Polls.Landed(p)
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// Who joins an account that was read lacks posts from before: until the account is read for it,
// the next process or node must begin there, within the horizon. What polls look back over anyway
// needs no commit.
func TestCursorOfWhoJoined(t *testing.T) {
	for name, row := range map[string]struct {
		polled      bool
		since, read time.Duration // before now; 0 for never
		behind      bool          // a cursor is stored
		resume      time.Duration // before now
	}{
		"now":                        {polled: true},
		"with a little from before":  {polled: true, since: 30 * time.Second, resume: 30 * time.Second},
		"with more":                  {polled: true, since: 30 * time.Minute, behind: true, resume: 30 * time.Minute},
		"with too much":              {polled: true, since: 3 * time.Hour, behind: true, resume: time.Hour},
		"and was read for elsewhere": {polled: true, since: 30 * time.Minute, read: 10 * time.Minute, behind: true, resume: 10 * time.Minute},
		"an account that was not":    {since: 30 * time.Minute},
	} {
		f := newFleet(t, 2)
		if row.polled {
			f.round(nil)
		}
		now := f.times.Wall
		ago := func(d time.Duration) time.Time { return now.Add(-d) }
		joins := &Subscription{Terms: Terms{Source: poll.Source{Source: deliver.Source{ID: "joins"}}, Interval: time.Minute, Weight: 1}, Late: true,
			All: []monitor.Account{{Username: "an_account_1", Since: ago(row.since)}}, Mine: []Account{{Hash: HashName("an_account_1")}}}
		if row.read > 0 {
			joins.Read = ago(row.read)
		}
		f.SetSubscription(joins)
		behind := f.Behind("joins")
		if c := behind[1]; len(f.Behind("m"))+len(f.Behind("nobody")) > 0 || (c != nil) != row.behind || c != nil && !c.Since.Equal(ago(row.resume)) {
			t.Errorf("%s: the cursor %+v is stored, want one of %s ago: %t", name, c, row.resume, row.behind)
		}
		if got := f.Resume(1); row.polled && !got.Equal(ago(row.resume)) || !row.polled && !got.IsZero() {
			t.Errorf("%s: the next process begins at %s, want %s ago", name, got, row.resume)
		}
		if got := f.ReadFor(1, "m"); !f.ReadFor(1, "joins").IsZero() || !row.polled && !got.IsZero() || row.polled && !got.Equal(now) {
			t.Errorf("%s: read for the others until %s, and for who joins until %s", name, got, f.ReadFor(1, "joins"))
		}
		g, more := f.GiveUp(0, 1, func(string) bool { return false })
		if len(g.Cursors) > 0 || !more {
			t.Errorf("%s: another account is given up with %v, more %t", name, g.Cursors, more)
		}
		f.round(nil)
		if until := f.ReadFor(1, "joins"); len(f.Behind("joins")) > 0 || !until.Equal(f.times.Wall) || !f.Resume(1).Equal(until) {
			t.Errorf("%s: read until %s after a poll", name, until)
		}
		joins.ID = "late"
		joins.All[0].Since = f.times.Wall.Add(-row.since)
		joins.Read = time.Time{}
		f.SetSubscription(joins)
		g, more = f.GiveUp(1, 1, func(string) bool { return false })
		if c := g.Cursors["account:an_account_1"]; more || (c != nil) != (row.since > 0) || c != nil && !c.Since.Equal(f.times.Wall.Add(-min(row.since, time.Hour))) {
			t.Errorf("%s: given up with the cursor %+v, more %t", name, c, more)
		}
	}
}

// An outage of all accounts takes little memory, which is free again after it.
func TestMemoryInAnOutage(t *testing.T) {
	if size := unsafe.Sizeof(account{}); size > 72 {
		t.Errorf("an account has %d bytes, want at most 72", size)
	}
	const n = 20_000
	before := heap()
	f := newFleet(t, n)
	f.round(nil)
	quiet := (heap() - before) / n
	f.round(errors.New("down"))
	down := (heap() - before) / n
	f.round(nil)
	after := (heap() - before) / n
	if quiet > 200 || down > quiet+90 || after > quiet+8 {
		t.Errorf("%.0f bytes an account, %.0f in an outage and %.0f after it, want at most 200, 90 more, and about the same", quiet, down, after)
	}
	t.Logf("%.0f bytes an account, %.0f in an outage and %.0f after it", quiet, down, after)
	runtime.KeepAlive(f)
}

// A poll that finds nothing new allocates next to nothing.
func TestAllocationsOfAPoll(t *testing.T) {
	f := newFleet(t, 1)
	f.round(nil)
	for name, row := range map[string]struct {
		err  error
		most float64
	}{
		"nothing new": {nil, 3},
		"fails":       {errors.New("down"), 9}, // one keeps the error
	} {
		f.poll(0, row.err)
		if n := testing.AllocsPerRun(200, func() { f.poll(0, row.err) }); n > row.most {
			t.Errorf("%s: %.1f allocations, want at most %.0f", name, n, row.most)
		} else {
			t.Logf("%s: %.1f allocations", name, n)
		}
	}
}
