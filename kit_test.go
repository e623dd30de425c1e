package streamwatch_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inbox is an OnEvent handler that remembers the posts it got.
type inbox struct {
	mu  sync.Mutex
	got []string
}

func (in *inbox) handle(_ context.Context, e deliver.Event) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.got = append(in.got, e.TweetID)
	return nil
}

func (in *inbox) ids() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.got)
}

func newEngine(t *testing.T, cfg streamwatch.Config) *streamwatch.Engine {
	t.Helper()
	e, err := streamwatch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func create(t *testing.T, e *streamwatch.Engine, r monitor.CreateRequest) monitor.Created {
	t.Helper()
	m, err := e.Monitors().Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// failedSearches counts the searches for a query that fail.
type failedSearches struct {
	fetcher.Searcher
	query string
	n     atomic.Int64
}

func (f *failedSearches) Search(ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	page, err := f.Searcher.Search(ctx, q)
	if err != nil && q.Query == f.query {
		f.n.Add(1)
	}
	return page, err
}
