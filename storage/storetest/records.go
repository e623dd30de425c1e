package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/streamwatch/streamwatch/storage"
)

// versioned is what monitor.Store and rule.Store have in common.
type versioned[T any] interface {
	Create(ctx context.Context, rec T) error
	Get(ctx context.Context, owner, id string) (T, error)
	Update(ctx context.Context, rec T) error
	Delete(ctx context.Context, owner, id string) error
	Scan(ctx context.Context, fn func(T) error) error
}

// recordRole describes a kind of record and its role, for the cases that all kinds share.
type recordRole[T any] struct {
	noun, name string // the words for a record and its unique name
	role       func(storage.Store) versioned[T]
	make       func(owner, id, name, status string) T
	full       func(t *storeTest) T // a record with a value in every field
	change     func(t *storeTest, rec *T)
	rename     func(rec *T, name string)
	id         func(*T) string
	version    func(*T) *int64
	list       func(ctx context.Context, s storage.Store, owner, status string, page, size int) (listed[T], error)

	notFound, duplicate, conflict error
}

// listed is a page of records.
type listed[T any] struct {
	recs              []T
	total, page, size int
}

// recordTest is a store with records 1, 2, and so on of acme, and one of globex. The even records
// of acme are paused.
type recordTest[T any] struct {
	*storeTest
	recordRole[T]
	recs versioned[T]
}

func (r recordRole[T]) with(t *storeTest, n int) recordTest[T] {
	rt := recordTest[T]{t, r, r.role(t.store)}
	for i := 1; i <= n; i++ {
		rt.create("acme", fmt.Sprint(i), fmt.Sprint("name ", i), []string{"paused", "active"}[i%2])
	}
	rt.create("globex", "theirs", "name 1", "active")
	return rt
}

func (t recordTest[T]) create(owner, id, name, status string) {
	t.Helper()
	t.ok(t.recs.Create(t.Context(), t.make(owner, id, name, status)), "Create of "+owner+"'s "+id)
}

func (t recordTest[T]) get(owner, id string) T {
	t.Helper()
	rec, err := t.recs.Get(t.Context(), owner, id)
	t.ok(err, "Get of "+owner+"'s "+id)
	return rec
}

func (t recordTest[T]) ids(owner, status string, page, size int) (string, int) {
	t.Helper()
	p, err := t.list(t.Context(), t.store, owner, status, page, size)
	t.ok(err, "List")
	return joined(p.recs, func(rec T) string { return t.id(&rec) }), p.total
}

// cases returns the cases that all kinds of records share.
func (r recordRole[T]) cases() []storeCase {
	on := func(name string, run func(recordTest[T])) storeCase {
		return storeCase{name: name, run: func(t *storeTest) { run(r.with(t, 3)) }}
	}
	cases := append(r.errorCases(), r.listCases()...)
	return append(cases,
		on("a record comes back as it was created", func(t recordTest[T]) {
			rec := r.full(t.storeTest)
			t.ok(t.recs.Create(t.Context(), rec), "Create")
			t.same(t.get("acme", r.id(&rec)), rec, "Get gave a %s other than Create was given", r.noun)
		}),
		on("Update replaces the record and counts its version", func(t recordTest[T]) {
			rec := r.full(t.storeTest)
			t.ok(t.recs.Create(t.Context(), rec), "Create")
			r.change(t.storeTest, &rec)
			before := *r.version(&rec)
			t.ok(t.recs.Update(t.Context(), rec), "Update")
			*r.version(&rec) = before + 1
			t.same(t.get("acme", r.id(&rec)), rec, "Get gave a %s other than Update was given: it replaces all fields, and stores Version+1", r.noun)
		}),
		on("Update of a version that is not stored is a conflict and changes nothing", func(t recordTest[T]) {
			rec := t.get("acme", "1")
			t.ok(t.recs.Update(t.Context(), rec), "Update")
			stored := t.get("acme", "1")
			r.rename(&rec, "stale")
			t.refused(t.recs.Update(t.Context(), rec), r.conflict, "Update took a %s whose Version is older than the stored one", r.noun)
			*r.version(&rec) += 7
			t.refused(t.recs.Update(t.Context(), rec), r.conflict, "Update took a %s whose Version is newer than the stored one", r.noun)
			t.same(t.get("acme", "1"), stored, "a refused Update changed the %s", r.noun)
			t.create("acme", "new", "stale", "active") // the name was not taken
		}),
		on("Update to a name in use changes nothing", func(t recordTest[T]) {
			rec := t.get("acme", "1")
			before := rec
			r.rename(&rec, "name 2")
			t.refused(t.recs.Update(t.Context(), rec), r.duplicate, "Update gave a %s the %s of another", r.noun, r.name)
			t.same(t.get("acme", "1"), before, "a refused Update changed the %s, or counted its version", r.noun)
		}),
		on("a name is free again after Update and Delete", func(t recordTest[T]) {
			rec := t.get("acme", "1")
			r.rename(&rec, "fresh")
			t.ok(t.recs.Update(t.Context(), rec), "Update")
			t.create("acme", "4", "name 1", "active") // given up by the update
			t.refused(t.recs.Create(t.Context(), r.make("acme", "5", "fresh", "active")), r.duplicate,
				"Create used a %s that an Update had taken", r.name)
			t.ok(t.recs.Delete(t.Context(), "acme", "1"), "Delete")
			t.create("acme", "1", "fresh", "active") // name and id given up by the deletion
		}),
		on("names that differ in case are different", func(t recordTest[T]) {
			t.create("acme", "upper", "NAME 1", "active")
		}),
		on("a deleted record is gone", func(t recordTest[T]) {
			t.ok(t.recs.Delete(t.Context(), "acme", "2"), "Delete")
			_, err := t.recs.Get(t.Context(), "acme", "2")
			t.refused(err, r.notFound, "Get found a %s that was deleted", r.noun)
			ids, total := t.ids("acme", "", 1, 100)
			expect(t.storeTest, ids, "1 3", "List shows a %s that was deleted", r.noun)
			expect(t.storeTest, total, 2, "List counts a %s that was deleted", r.noun)
			t.refused(t.recs.Delete(t.Context(), "acme", "2"), r.notFound, "a second Delete found the %s", r.noun)
		}),
		on("Scan shows every record of every owner once", func(t recordTest[T]) {
			seen := map[string]int{}
			t.ok(t.recs.Scan(t.Context(), func(rec T) error { seen[r.id(&rec)]++; return nil }), "Scan")
			for _, id := range []string{"1", "2", "3", "theirs"} {
				expect(t.storeTest, seen[id], 1, "Scan has to show each %s once, here %s", r.noun, id)
			}
			expect(t.storeTest, len(seen), 4, "Scan showed what was never created")
		}),
		on("Scan gives back the error that ends it", func(t recordTest[T]) {
			calls, stop := 0, errors.New("stop")
			t.refused(t.recs.Scan(t.Context(), func(T) error { calls++; return stop }), stop, "Scan has to return fn's error")
			expect(t.storeTest, calls, 1, "Scan went on after fn's error")
		}),
		on("Scan stops when its context ends", func(t recordTest[T]) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			calls := 0
			t.refused(t.recs.Scan(ctx, func(T) error { calls++; cancel(); return nil }), context.Canceled,
				"Scan has to return the error of a context that ends between two %ss", r.noun)
			expect(t.storeTest, calls, 1, "Scan went on after its context had ended")
		}),
		on("Scan agrees with writers beside it", func(t recordTest[T]) {
			var wg sync.WaitGroup
			wg.Go(func() {
				for i := range 20 {
					if err := t.recs.Create(t.Context(), r.make("late", fmt.Sprint("late ", i), fmt.Sprint(i), "active")); err != nil {
						t.Errorf("Create beside a Scan failed: %v", err)
					}
				}
			})
			for range 5 {
				seen := map[string]int{}
				t.ok(t.recs.Scan(t.Context(), func(rec T) error { seen[r.id(&rec)]++; return nil }), "Scan beside a Create")
				for _, id := range []string{"1", "2", "3", "theirs"} {
					expect(t.storeTest, seen[id], 1, "Scan lost or repeated a %s because others were created meanwhile", r.noun)
				}
			}
			wg.Wait()
		}),
		on("of concurrent updates of one version one succeeds", func(t recordTest[T]) {
			rec := t.get("acme", "1")
			oneOf(t.storeTest, r.conflict, "Update of one Version", func(int) error { return t.recs.Update(t.Context(), rec) })
		}),
		on("of concurrent creations under one name one succeeds", func(t recordTest[T]) {
			oneOf(t.storeTest, r.duplicate, "Create under one "+r.name, func(i int) error {
				return t.recs.Create(t.Context(), r.make("acme", fmt.Sprint("racer ", i), "the name", "active"))
			})
		}),
	)
}

// oneOf makes 16 calls at the same time. One must succeed, and the others must return the error
// otherwise.
func oneOf(t *storeTest, otherwise error, what string, call func(i int) error) {
	t.Helper()
	errs := make([]error, 16)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = call(i) })
	}
	wg.Wait()
	succeeded := 0
	for _, err := range errs {
		if err == nil {
			succeeded++
			continue
		}
		t.refused(err, otherwise, "%s: the losers of a race get another error", what)
	}
	expect(t, succeeded, 1, "%s: of 16 concurrent calls exactly one may succeed", what)
}
