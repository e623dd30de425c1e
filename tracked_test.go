package streamwatch

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// empty is a platform whose accounts have no posts.
type empty struct{}

func (empty) Timeline(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
	return fetcher.Page{}, nil
}

// What is deleted or paused, through whatever node, is known to no node any more.
func TestNodesKeepNothingOfWhatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		var nodes []*Engine
		for _, name := range []string{"a", "b"} {
			e, err := New(Config{Fetcher: empty{}, Store: store, Fleet: &FleetConfig{Name: name}})
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, e)
		}
		<-time.After(10 * time.Second)
		a := nodes[0]
		for i := range 20 {
			m, err := a.Monitors().Create(t.Context(), monitor.CreateRequest{Name: fmt.Sprint("m", i), Usernames: []string{"nasa"}})
			if err != nil {
				t.Fatal(err)
			}
			r, err := a.Rules().Create(t.Context(), rule.CreateRequest{Tag: fmt.Sprint("r", i), Query: "from:nasa", Interval: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			switch i % 3 {
			case 0:
				_, err = a.Monitors().Pause(t.Context(), "", m.ID)
			case 1:
				err = a.Monitors().Delete(t.Context(), "", m.ID)
			}
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				if err := a.Rules().Delete(t.Context(), "", r.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		<-time.After(10 * time.Second)
		const want = 6 + 1 // monitors and rules that are active
		for _, e := range nodes {
			if n := e.fleet.tracked.size(); n != want {
				t.Errorf("%s knows %d records, want %d", e.fleet.name, n, want)
			}
			if err := e.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// size returns how many records are known.
func (t *tracked) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.now) + len(t.old)
}
