package storetest

import (
	"fmt"
	"math"
)

// listCases test List with five records.
func (r recordRole[T]) listCases() []storeCase {
	var cases []storeCase
	for _, row := range []struct {
		name, owner, status string
		page, size          int
		want                string
		total               int
	}{
		{"the first page", "acme", "", 1, 2, "1 2", 5},
		{"the last page, which is short", "acme", "", 3, 2, "5", 5},
		{"nothing beyond the last page", "acme", "", 4, 2, "", 5},
		{"nothing far beyond the last page", "acme", "", math.MaxInt, 100, "", 5},
		{"one status", "acme", "paused", 1, 100, "2 4", 2},
		{"pages of one status", "acme", "active", 2, 2, "5", 3},
		{"only what the owner owns", "globex", "", 1, 100, "theirs", 1},
		{"nothing of an owner never seen", "initech", "", 1, 100, "", 0},
	} {
		cases = append(cases, storeCase{name: "List shows " + row.name, run: func(t *storeTest) {
			ids, total := r.with(t, 5).ids(row.owner, row.status, row.page, row.size)
			expect(t, ids, row.want, "List has to show %s, in order of creation", row.name)
			expect(t, total, row.total, "Total has to count all %ss that match, not those on the page", r.noun)
		}})
	}
	return append(cases, r.pageCases()...)
}

// pageCases test pages of 25 records.
func (r recordRole[T]) pageCases() []storeCase {
	with := func(t *storeTest, n int) recordTest[T] {
		rt := recordTest[T]{t, r, r.role(t.store)}
		for i := 1; i <= n; i++ {
			rt.create("acme", fmt.Sprint(i), fmt.Sprint("name ", i), "active")
		}
		return rt
	}
	cases := []storeCase{
		{name: "no page and no size mean the first 20", run: func(t *storeTest) {
			rt := with(t, 25)
			for _, row := range []struct {
				page, size, want int
				first            string
			}{{0, 0, 20, "1"}, {2, 0, 5, "21"}, {0, 7, 7, "1"}} {
				p, err := r.list(t.Context(), t.store, "acme", "", row.page, row.size)
				t.ok(err, "List")
				expect(t, len(p.recs), row.want, "a Query with Page %d and PageSize %d: 0 has to mean page 1, and 20 %ss", row.page, row.size, r.noun)
				if len(p.recs) > 0 {
					expect(t, rt.id(&p.recs[0]), row.first, "a Query with Page %d and PageSize %d begins with another %s", row.page, row.size, r.noun)
				}
				expect(t, p.total, 25, "Total has to count all %ss that match, not those on the page", r.noun)
				expect(t, p.page, row.page, "Page.Page has to be the query's")
				expect(t, p.size, row.size, "Page.PageSize has to be the query's")
			}
		}},
		{name: "a page says which page it is", run: func(t *storeTest) {
			p, err := r.list(t.Context(), t.store, "acme", "", 3, 7)
			t.ok(err, "List")
			expect(t, p.page, 3, "Page.Page has to be the query's")
			expect(t, p.size, 7, "Page.PageSize has to be the query's")
		}},
	}
	return append(cases, storeCase{name: "the order of creation outlives updates and deletions", run: func(t *storeTest) {
		rt := r.with(t, 4)
		rec := rt.get("acme", "1")
		r.rename(&rec, "zzz")
		t.ok(rt.recs.Update(t.Context(), rec), "Update")
		t.ok(rt.recs.Delete(t.Context(), "acme", "3"), "Delete")
		rt.create("acme", "0", "aaa", "active")
		ids, _ := rt.ids("acme", "", 1, 100)
		expect(t, ids, "1 2 4 0", "List has to show %ss in order of creation, whatever their ids, names and changes", r.noun)
	}})
}
