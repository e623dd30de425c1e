package streamwatch_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// logged counts the calls that read one timeline.
type logged struct {
	fetcher.Fetcher
	calls *atomic.Int64
}

func (l logged) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	l.calls.Add(1)
	return l.Fetcher.Timeline(ctx, q)
}

// together reads several timelines in one call.
type together struct {
	*enginetest.Platform
	batches *atomic.Int64
}

func (s together) Timelines(ctx context.Context, qs []fetcher.TimelineQuery) (pages []fetcher.Page, err error) {
	s.batches.Add(1)
	for _, q := range qs {
		pg, err := s.Timeline(ctx, q)
		pg.Err = err
		pages = append(pages, pg)
	}
	return pages, nil
}

// A wrapper around a Fetcher that shares calls goes on sharing them by Config.Roles.
func TestWrapperKeepsRoles(t *testing.T) {
	for _, row := range []struct {
		name   string
		roles  func(together) fetcher.Roles
		shares bool
	}{
		{"without Roles", func(together) fetcher.Roles { return fetcher.Roles{} }, false},
		{"with Roles", func(s together) fetcher.Roles { return fetcher.RolesOf(s) }, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var alone, calls atomic.Int64
				names := enginetest.AccountNames(10)
				p := together{enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: names}), &calls}
				e := newEngine(t, streamwatch.Config{Fetcher: logged{p, &alone}, Roles: row.roles(p)})
				create(t, e, monitor.CreateRequest{Owner: "acme", Name: "m", Usernames: names})
				if err := e.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				pass(2 * time.Minute) // all accounts are polled within the first
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if (calls.Load() > 0) != row.shares {
					t.Errorf("%d calls of one account and %d shared ones, want shared ones: %t", alone.Load(), calls.Load(), row.shares)
				}
			})
		})
	}
}
