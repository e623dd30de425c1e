package detect

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// everyRole is a Fetcher that reads several timelines in one call and searches.
type everyRole struct {
	*batchWorld
	search *searchable
}

func (r everyRole) Search(ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	return r.search.Search(ctx, q)
}

// A wrapper that has the Timeline method alone, such as one that logs, loses
// neither shared calls nor searches where Roles passes them on. A role that is given
// goes before the Fetcher's own.
func TestRolesAreGivenOrTheFetchersOwn(t *testing.T) {
	for name, row := range map[string]struct {
		deps             func(platform everyRole, other everyRole) Deps
		batches, search  bool // of the platform
		batches2, query2 bool // of the other
	}{
		"the Fetcher's own": {deps: func(p, _ everyRole) Deps { return Deps{Fetcher: p} }, batches: true, search: true},
		"a wrapper alone":   {deps: func(p, _ everyRole) Deps { return Deps{Fetcher: timelinesOnly{p}} }},
		"a wrapper and what it wraps": {deps: func(p, _ everyRole) Deps {
			return Deps{Fetcher: timelinesOnly{p}, Roles: fetcher.RolesOf(p)}
		}, batches: true, search: true},
		"given ones go first": {deps: func(p, o everyRole) Deps {
			return Deps{Fetcher: p, Roles: fetcher.RolesOf(o)}
		}, batches2: true, query2: true},
		"one given, one the Fetcher's own": {deps: func(p, o everyRole) Deps {
			return Deps{Fetcher: p, Roles: fetcher.Roles{Search: o}}
		}, batches: true, query2: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				made := func() everyRole { return everyRole{&batchWorld{world: newWorld()}, newSearchable()} }
				platform, other := made(), made()
				deps := row.deps(platform, other)
				d := platform.detector(t, func(c *settings) {
					c.Fetcher, c.Roles, c.Shards = deps.Fetcher, deps.Roles, 1
				})
				defer start(t, d)()
				set(t, d, sub("m", accountNames(10)...))
				err := d.SetQuery(t.Context(), asks("r", "moon"))
				if searched := row.search || row.query2; (err == nil) != searched {
					t.Errorf("a query is refused with %v, want a Searcher: %t", err, searched)
				}
				after(time.Second)
				for _, side := range []struct {
					name          string
					roles         everyRole
					batch, search bool
				}{{"the Fetcher", platform, row.batches, row.search}, {"the other", other, row.batches2, row.query2}} {
					if got := len(side.roles.sizes) > 0; got != side.batch {
						t.Errorf("%s reads timelines in shared calls: %t, want %t", side.name, got, side.batch)
					}
					if got := len(side.roles.search.questions) > 0; got != side.search {
						t.Errorf("%s is searched: %t, want %t", side.name, got, side.search)
					}
				}
			})
		})
	}
}
