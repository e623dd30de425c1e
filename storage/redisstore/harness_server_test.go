package redisstore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/redisstore/internal/redistest"
)

// These tests break connections, which the client logs to stderr.
func init() { logging.Disable() }

// storeNames numbers the stores, so that each has keys of its own.
var storeNames atomic.Int64

func freshName() string { return fmt.Sprint("t", storeNames.Add(1)) }

// openServer opens a store on a server or proxy, to be closed with the test.
func openServer(t testing.TB, addr string, opts redisstore.Options) *redisstore.Store {
	t.Helper()
	return openUniversal(t, &redis.UniversalOptions{Addrs: []string{addr}}, opts)
}

func openUniversal(t testing.TB, to *redis.UniversalOptions, opts redisstore.Options) *redisstore.Store {
	t.Helper()
	if opts.Name == "" {
		opts.Name = freshName()
	}
	s, err := redisstore.Open(t.Context(), to, opts)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func need(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// allEvents returns all events of an owner.
func allEvents(t testing.TB, s storage.Store, owner string) []deliver.Event {
	t.Helper()
	var all []deliver.Event
	for last := uint64(0); ; last = all[len(all)-1].Seq {
		evs, err := s.Ports().Log.Events(t.Context(), owner, last, 1000)
		need(t, err)
		if len(evs) == 0 {
			return all
		}
		all = append(all, evs...)
	}
}

// allDeliveries returns all deliveries of an owner with their attempts, oldest first.
func allDeliveries(t testing.TB, s storage.Store, owner string) []deliver.LogEntry {
	t.Helper()
	var all []deliver.LogEntry
	for page := 1; ; page++ {
		p, err := s.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: owner, Asc: true, Page: page, PageSize: 1000})
		need(t, err)
		if all = append(all, p.Entries...); len(p.Entries) == 0 {
			if len(all) != p.Total {
				t.Errorf("%d deliveries of %q are shown, and %d counted", len(all), owner, p.Total)
			}
			return all
		}
	}
}

// allEntries returns all ledger entries of an owner, oldest first.
func allEntries(t testing.TB, s storage.Store, owner string) []billing.Entry {
	t.Helper()
	var all []billing.Entry
	for page := 1; ; page++ {
		p, err := s.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: owner, Asc: true, Page: page, PageSize: 1000})
		need(t, err)
		if all = append(all, p.Entries...); len(p.Entries) == 0 {
			return all
		}
	}
}

func balanceIn(t testing.TB, s storage.Store, owner string) billing.Balance {
	t.Helper()
	b, err := s.Ports().Ledger.Balance(t.Context(), owner)
	need(t, err)
	return b
}

// sourceNamed returns a monitor of an owner as a source.
func sourceNamed(owner, id string) deliver.Source {
	return deliver.Source{Kind: deliver.SourceMonitor, ID: id, Owner: owner, Name: "name of " + id}
}

// postOf returns the event of a post for a source, which gets a delivery for each handler.
func postOf(src deliver.Source, tweet string, handlers ...string) deliver.Event {
	return deliver.Event{
		ID: deliver.EventID(src.ID, tweet), Source: src, TweetID: tweet, AuthorUsername: "nasa",
		Body: []byte(`{"tweet_id":"` + tweet + `"}`), Handlers: handlers,
	}
}

// configure changes a setting of a running server.
func configure(t testing.TB, s *redistest.Server, setting, value string) {
	t.Helper()
	need(t, s.Client().ConfigSet(t.Context(), setting, value).Err())
}
