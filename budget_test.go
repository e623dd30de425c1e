package streamwatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// noted is a platform that notes when which accounts were asked for.
type noted struct {
	*enginetest.Platform
	mu    sync.Mutex
	calls []notedCall
}

type notedCall struct {
	at    time.Time
	names []string
}

func (n *noted) note(names ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, notedCall{time.Now(), names})
}

func (n *noted) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	n.note(q.Username)
	return n.Platform.Timeline(ctx, q)
}

// since counts the calls since from.
func (n *noted) since(from time.Time) (calls int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.calls {
		if !c.at.Before(from) {
			calls++
		}
	}
	return calls
}

// longest is an account's longest time without a call since from.
func (n *noted) longest(name string, from time.Time) (longest time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	last := from
	for _, c := range n.calls {
		for _, asked := range c.names {
			if asked == name && c.at.After(from) {
				longest, last = max(longest, c.at.Sub(last)), c.at
			}
		}
	}
	return max(longest, time.Since(last))
}

// shared is noted with calls of up to 20 accounts.
type shared struct{ *noted }

func (shared) BatchLimit() int { return 20 }

func (s shared) Timelines(ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
	pages, names := make([]fetcher.Page, len(qs)), make([]string, len(qs))
	for i, q := range qs {
		names[i] = q.Username
		pages[i], pages[i].Err = s.Platform.Timeline(ctx, q)
	}
	s.note(names...)
	return pages, nil
}

// The first polls of 300 accounts leave time for what is bounded.
func TestBoundIsKeptWhileOthersJoin(t *testing.T) {
	const bound = 10 * time.Second
	for name, before := range map[string]time.Duration{"before the start": 0, "soon": 7 * time.Second, "later": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				names := enginetest.AccountNames(301)
				n := &noted{Platform: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: names})}
				e := newEngine(t, streamwatch.Config{Fetcher: n, Quotas: streamwatch.Quotas{MonitorAccounts: 300},
					Detect: detect.Config{Pace: detect.PaceBudget, FetchRate: 1}})
				create(t, e, monitor.CreateRequest{Name: "bounded", Usernames: names[:1], PollInterval: bound})
				others := monitor.CreateRequest{Name: "others", Usernames: names[1:]}
				if before == 0 {
					create(t, e, others)
				}
				defer startEngine(t, e)()
				if before > 0 {
					pass(before)
					create(t, e, others)
				}
				from := time.Now()
				pass(20 * time.Minute)
				if wait := n.longest(names[0], from); wait > bound {
					t.Errorf("waited %v, want at most %v", wait, bound)
				}
				if s := e.Stats().Detect.Pace; !s.Feasible {
					t.Errorf("%+v, want a budget that suffices", s)
				}
				if calls := n.since(from); calls < 1195 || calls > 1205 {
					t.Errorf("%d calls in 20 minutes, want the budget of one a second", calls)
				}
			})
		})
	}
}

// LastContact is when the upstream answered with a page, whatever was in it and
// whatever became of it; Failures, Err and Error say why nothing comes of it.
func TestAccountStatusTellsWhatIsWrong(t *testing.T) {
	const every = 30 * time.Second
	disk := errors.New("disk full")
	for name, row := range map[string]struct {
		shown    []string // posts, from 5 minutes on
		fetch    error    // instead
		commit   error
		contact  bool // still
		failures bool
		want     error
	}{
		"posts nothing":              {shown: []string{"1"}, contact: true},
		"deleted all its posts":      {contact: true},
		"turned protected":           {fetch: fetcher.ErrProtected, failures: true, want: fetcher.ErrProtected},
		"its cursor is not stored":   {shown: []string{"1"}, commit: disk, contact: true, failures: true, want: disk},
		"its new post is not stored": {shown: []string{"5", "1"}, commit: disk, contact: true, failures: true, want: disk},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				changed := func() bool { return time.Since(begin) > 5*time.Minute }
				f := fetchFunc(func(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
					if !changed() {
						return page(begin, "1"), nil
					}
					return page(begin, row.shown...), row.fetch
				})
				store := memory.New(memory.Options{})
				journal := &slowJournal{Journal: store.Ports().Journal, commit: func() error {
					if changed() {
						return row.commit
					}
					return nil
				}}
				e := newEngine(t, streamwatch.Config{Fetcher: f, Store: wrapped{Store: store, journal: journal}})
				create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: every})
				stop := startEngine(t, e)
				defer stop()
				pass(30 * time.Minute)
				st, ok, err := e.Account(t.Context(), "nasa")
				if err != nil || !ok {
					t.Fatalf("%v %v", ok, err)
				}
				if contact := time.Since(st.LastContact) < 10*time.Minute; contact != row.contact {
					t.Errorf("last contact %v ago: %+v", time.Since(st.LastContact), st)
				}
				if (st.Failures > 0) != row.failures || !errors.Is(st.Err, row.want) {
					t.Errorf("%d failures, %v; want the last error, %v", st.Failures, st.Err, row.want)
				}
				text, err := json.Marshal(st)
				if err != nil || row.want != nil && !strings.Contains(string(text), row.want.Error()) {
					t.Errorf("%s %v, want JSON that says %v", text, err, row.want)
				}
			})
		})
	}
}

// page shows posts by nasa, numbered by the minutes from begin to publication.
func page(begin time.Time, ids ...string) fetcher.Page {
	pg := fetcher.Page{UserID: "1"}
	for _, id := range ids {
		minutes, _ := strconv.Atoi(id)
		pg.Tweets = append(pg.Tweets, fetcher.Tweet{ID: id, UserID: "1", Username: "nasa", PublishedAt: begin.Add(time.Duration(minutes) * time.Minute)})
	}
	return pg
}

// watched lists the accounts of some monitors, each once.
func watched(monitors []monitor.CreateRequest) []string {
	var names []string
	for _, m := range monitors {
		names = append(names, m.Usernames...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
