package streamwatch_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
)

// told remembers the texts of what it was called with.
type told struct {
	mu    sync.Mutex
	texts []string
}

func (w *told) take(events []deliver.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range events {
		w.texts = append(w.texts, e.Source.Owner+" "+e.TextPreview)
	}
}

func (w *told) got() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.texts)
}

// Watch tells of each new event of every owner once, until it is stopped.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		e := newEngine(t, streamwatch.Config{Fetcher: p})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		var first, second told
		stop := e.Watch(first.take)
		for _, owner := range []string{"acme", "globex"} {
			create(t, e, monitor.CreateRequest{Owner: owner, Name: "m", Usernames: []string{"nasa"}, PollInterval: time.Second})
		}
		pass(2 * time.Second)
		p.Post("nasa", "one")
		pass(2 * time.Second)
		also := e.Watch(second.take)
		p.Post("nasa", "two")
		pass(2 * time.Second)
		stop()
		p.Post("nasa", "three")
		pass(2 * time.Second)
		also()
		for _, row := range []struct {
			name string
			of   *told
			want []string
		}{
			{"who was there first", &first, []string{"acme one", "acme two", "globex one", "globex two"}},
			{"who came later", &second, []string{"acme three", "acme two", "globex three", "globex two"}},
		} {
			got := row.of.got()
			slices.Sort(got)
			if !slices.Equal(got, row.want) {
				t.Errorf("%s was told of %q, want %q", row.name, got, row.want)
			}
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
