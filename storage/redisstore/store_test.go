package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

var (
	start = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	acme  = source("acme", "m1")
)

// fakeClock is a clock that stands still until a test advances it.
type fakeClock struct{ offset atomic.Int64 }

func (c *fakeClock) Now() time.Time          { return start.Add(time.Duration(c.offset.Load())) }
func (c *fakeClock) Advance(d time.Duration) { c.offset.Add(int64(d)) }

// open opens a store on a server of its own, and returns its clock, which is at start. The
// server, miniredis, does not tell its eviction policy.
func open(t testing.TB, opts redisstore.Options) (*redisstore.Store, *miniredis.Miniredis, *fakeClock) {
	t.Helper()
	server := miniredis.RunT(t)
	s, clock := openOn(t, server, opts)
	return s, server, clock
}

func openOn(t testing.TB, server *miniredis.Miniredis, opts redisstore.Options) (*redisstore.Store, *fakeClock) {
	t.Helper()
	return openBy(t, &redis.UniversalOptions{Addrs: []string{server.Addr()}}, opts)
}

func openBy(t testing.TB, to *redis.UniversalOptions, opts redisstore.Options) (*redisstore.Store, *fakeClock) {
	t.Helper()
	clock := new(fakeClock)
	opts.Now = clock.Now
	opts.AllowEviction = true
	s, err := redisstore.Open(t.Context(), to, opts)
	must(t, err)
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil && !errors.Is(err, redisstore.ErrClosed) {
			t.Error(err)
		}
	})
	return s, clock
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("error = %v, want %v", got, want)
	}
}

func want[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func source(owner, id string) deliver.Source {
	return deliver.Source{Kind: deliver.SourceMonitor, ID: id, Owner: owner, Name: "name of " + id}
}

func newEvent(src deliver.Source, tweetID string, handlers ...string) deliver.Event {
	return deliver.Event{
		ID: deliver.EventID(src.ID, tweetID), Source: src, TweetID: tweetID, AuthorUsername: "NASA",
		Body: []byte(`{"tweet_id":"` + tweetID + `"}`), Handlers: handlers,
	}
}

func bind(t testing.TB, s *redisstore.Store, src deliver.Source, id string) {
	t.Helper()
	must(t, roles.Endpoints(s.Ports().Records).Create(t.Context(), deliver.Endpoint{
		ID: id, Source: src, URL: "https://example.com/" + id, Secret: "s3cr3t-s3cr3t-s3cr3t-s3cr3t",
		Status: deliver.EndpointActive, CreatedAt: start,
	}))
}

func commit(t testing.TB, s *redisstore.Store, evs ...deliver.Event) *detect.Batch {
	t.Helper()
	b := &detect.Batch{Events: evs, DeliverBy: start}
	must(t, s.Ports().Journal.Commit(t.Context(), []*detect.Batch{b}))
	return b
}

func settle(t testing.TB, s *redisstore.Store, ds ...deliver.Delivery) {
	t.Helper()
	var ss []deliver.Settlement
	for _, d := range ds {
		ss = append(ss, deliver.Settlement{DeliveryID: d.ID, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateDelivered})
	}
	must(t, s.Ports().Outbox.Settle(t.Context(), ss...))
}

func claim(t testing.TB, s *redisstore.Store, limit int) []deliver.Delivery {
	t.Helper()
	ds, err := s.Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: start, Lease: time.Minute, Limit: limit})
	must(t, err)
	return ds
}

// logged returns an owner's events after a number as number:tweet.
func logged(t testing.TB, s *redisstore.Store, owner string, after uint64) string {
	t.Helper()
	evs, err := s.Ports().Log.Events(t.Context(), owner, after, 10_000)
	must(t, err)
	var shown []string
	for _, ev := range evs {
		shown = append(shown, fmt.Sprintf("%d:%s", ev.Seq, ev.TweetID))
	}
	return strings.Join(shown, " ")
}

func endpointsOf(ds []deliver.Delivery) string {
	var ids []string
	for _, d := range ds {
		ids = append(ids, d.EndpointID)
	}
	return strings.Join(ids, " ")
}
