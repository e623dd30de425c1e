package streamwatch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// suspended is what is suspended and restored: a monitor of an account, or a rule.
type suspended struct {
	kind             string
	create           func(t *testing.T, e *streamwatch.Engine, name, account string) (id string)
	suspend, restore func(ctx context.Context, e *streamwatch.Engine, id string) error
	by               func(t *testing.T, e *streamwatch.Engine, account string) (node string) // that polls
}

var suspendeds = []suspended{suspendedMonitor, suspendedRule, coveredRule()}

var suspendedMonitor = suspended{
	kind: "monitor",
	create: func(t *testing.T, e *streamwatch.Engine, name, account string) string {
		return create(t, e, monitor.CreateRequest{Name: name, Usernames: []string{account}, PollInterval: 10 * time.Second}).ID
	},
	suspend: func(ctx context.Context, e *streamwatch.Engine, id string) error {
		_, err := e.Monitors().Suspend(ctx, "", id, monitor.ReasonCredits)
		return err
	},
	restore: func(ctx context.Context, e *streamwatch.Engine, id string) error {
		_, err := e.Monitors().Restore(ctx, "", id, monitor.ReasonCredits)
		return err
	},
	by: func(t *testing.T, e *streamwatch.Engine, account string) string {
		st, _, err := e.Account(t.Context(), account)
		if err != nil {
			t.Fatal(err)
		}
		return st.Node
	},
}

var suspendedRule = suspended{
	kind: "rule",
	create: func(t *testing.T, e *streamwatch.Engine, name, _ string) string {
		r, err := e.Rules().Create(t.Context(), rule.CreateRequest{Tag: name, Query: "post", Interval: 20 * time.Second, MaxResults: 100})
		if err != nil {
			t.Fatal(err)
		}
		return r.Rule.ID
	},
	suspend: func(ctx context.Context, e *streamwatch.Engine, id string) error {
		_, err := e.Rules().Suspend(ctx, "", id, rule.ReasonCredits)
		return err
	},
	restore: func(ctx context.Context, e *streamwatch.Engine, id string) error {
		_, err := e.Rules().Restore(ctx, "", id, rule.ReasonCredits)
		return err
	},
	by: func(t *testing.T, e *streamwatch.Engine, _ string) string {
		st, _, err := e.Query(t.Context(), "post")
		if err != nil {
			t.Fatal(err)
		}
		return st.Node
	},
}

// coveredRule is a rule whose posts come from the timeline that a monitor has polled.
func coveredRule() suspended {
	s := suspendedRule
	s.kind, s.by = "covered rule", suspendedMonitor.by
	s.create = func(t *testing.T, e *streamwatch.Engine, name, account string) string {
		suspendedMonitor.create(t, e, "polls for "+name, account)
		r, err := e.Rules().Create(t.Context(), rule.CreateRequest{Tag: name, Query: "from:" + account, Interval: 20 * time.Second, MaxResults: 100})
		if err != nil {
			t.Fatal(err)
		}
		return r.Rule.ID
	}
	return s
}

// posts counts the posts that are found, by source.
type posts struct {
	mu    sync.Mutex
	found map[string]map[string]int
}

func (p *posts) handle(_ context.Context, ev deliver.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil {
		p.found = map[string]map[string]int{}
	}
	if p.found[ev.Source.ID] == nil {
		p.found[ev.Source.ID] = map[string]int{}
	}
	p.found[ev.Source.ID][ev.TweetID]++
	return nil
}

// want checks that a source has got n posts.
func (p *posts) want(t *testing.T, name, id string, n int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if got := len(p.found[id]); got != n {
		t.Errorf("%s got %d posts, want %d", name, got, n)
	}
}

// What is restored gets what was published meanwhile also if the node that polls for others
// dies, or stops, before it hears of the restoration.
func TestRestoredThoughThePollerNeverHeardOfIt(t *testing.T) {
	for _, kind := range suspendeds {
		for name, end := range map[string]func(n *engine) (ended <-chan struct{}){
			"it dies":                     func(n *engine) <-chan struct{} { n.kill(); pass(3 * time.Second); return nil },
			"it stops":                    func(n *engine) <-chan struct{} { return stopping(n) },
			"it began to stop 75 ms ago":  func(n *engine) <-chan struct{} { defer pass(75 * time.Millisecond); return stopping(n) },
			"it began to stop 300 ms ago": func(n *engine) <-chan struct{} { defer pass(300 * time.Millisecond); return stopping(n) },
		} {
			t.Run(kind.kind+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newFleetWorld(t, 1)
					var got posts
					w.tune = func(c *streamwatch.Config) { c.Roles.Search, c.OnEvent = w.platform, got.handle }
					nodes := w.start("a", "b")
					pass(15 * time.Second)
					account := enginetest.AccountNames(1)[0]
					goes := kind.create(t, nodes[0].Engine, "goes on", account)
					id := kind.create(t, nodes[0].Engine, "suspended", account)
					pass(time.Minute)
					if err := kind.suspend(t.Context(), nodes[0].Engine, id); err != nil {
						t.Fatal(err)
					}
					for i := range 30 {
						w.platform.Post(account, fmt.Sprint("post ", i))
						pass(5 * time.Minute)
					}
					polls, lives := nodes[0], nodes[1]
					if kind.by(t, nodes[0].Engine, account) == "b" {
						polls, lives = lives, polls
					}
					ended := end(polls)
					if err := kind.restore(t.Context(), lives.Engine, id); err != nil {
						t.Fatal(err)
					}
					pass(10 * time.Minute)
					if ended != nil {
						<-ended
					}
					lives.stop()
					got.want(t, "who went on", goes, 30)
					got.want(t, "who was suspended", id, 30)
				})
			})
		}
	}
}

// stopping has a node stop, and returns a channel that is closed when it has.
func stopping(n *engine) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.stop()
	}()
	return ended
}
