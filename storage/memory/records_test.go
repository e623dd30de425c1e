package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/streamwatch/streamwatch/storage/memory"
)

// versionedStore is what monitor.Store and rule.Store have in common.
type versionedStore[T any] interface {
	Create(ctx context.Context, rec T) error
	Get(ctx context.Context, owner, id string) (T, error)
	Update(ctx context.Context, rec T) error
	Delete(ctx context.Context, owner, id string) error
	Scan(ctx context.Context, fn func(T) error) error
}

// records tests one kind of record.
type records[T any] struct {
	open    func(*testing.T) versionedStore[T]
	make    func(owner, id, name, status string) T
	id      func(T) string
	version func(*T) *int64
	rename  func(rec *T, name string)
	list    func(ctx context.Context, s versionedStore[T], owner, status string, page, size int) ([]T, int, error)

	notFound, duplicate, conflict error
}

// fill creates n records of acme with the ids 1 to n, the even ones paused, and
// one of globex.
func (rs records[T]) fill(t *testing.T, n int) versionedStore[T] {
	s := rs.open(t)
	for i := 1; i <= n; i++ {
		status := "active"
		if i%2 == 0 {
			status = "paused"
		}
		must(t, s.Create(t.Context(), rs.make("acme", fmt.Sprint(i), fmt.Sprint("name ", i), status)))
	}
	must(t, s.Create(t.Context(), rs.make("globex", "theirs", "name 1", "active")))
	return s
}

func (rs records[T]) ids(recs []T) string {
	var ids []string
	for _, rec := range recs {
		ids = append(ids, rs.id(rec))
	}
	return strings.Join(ids, " ")
}

func (rs records[T]) run(t *testing.T) {
	t.Run("errors", rs.testErrors)
	t.Run("version", rs.testVersion)
	t.Run("names", rs.testNames)
	t.Run("list", rs.testList)
	t.Run("scan", rs.testScan)
	t.Run("concurrent updates", rs.testConcurrentUpdates)
}

func (rs records[T]) testErrors(t *testing.T) {
	ctx := t.Context()
	update := func(s versionedStore[T], owner, id string) error {
		return s.Update(ctx, rs.make(owner, id, "name", "active"))
	}
	for _, row := range []struct {
		name string
		call func(versionedStore[T]) error
		want error
	}{
		{"create with a name the owner has", func(s versionedStore[T]) error {
			return s.Create(ctx, rs.make("acme", "new", "name 1", "active"))
		}, rs.duplicate},
		{"create with an id in use", func(s versionedStore[T]) error {
			return s.Create(ctx, rs.make("acme", "1", "new", "active"))
		}, rs.duplicate},
		{"create with a name another owner has", func(s versionedStore[T]) error {
			return s.Create(ctx, rs.make("initech", "new", "name 1", "active"))
		}, nil},
		{"get", func(s versionedStore[T]) error { _, err := s.Get(ctx, "acme", "1"); return err }, nil},
		{"get unknown", func(s versionedStore[T]) error { _, err := s.Get(ctx, "acme", "x"); return err }, rs.notFound},
		{"get another owner's", func(s versionedStore[T]) error { _, err := s.Get(ctx, "acme", "theirs"); return err }, rs.notFound},
		{"update unknown", func(s versionedStore[T]) error { return update(s, "acme", "x") }, rs.notFound},
		{"update another owner's", func(s versionedStore[T]) error { return update(s, "acme", "theirs") }, rs.notFound},
		{"delete", func(s versionedStore[T]) error { return s.Delete(ctx, "acme", "1") }, nil},
		{"delete unknown", func(s versionedStore[T]) error { return s.Delete(ctx, "acme", "x") }, rs.notFound},
		{"delete another owner's", func(s versionedStore[T]) error { return s.Delete(ctx, "acme", "theirs") }, rs.notFound},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := rs.fill(t, 3)
			wantErr(t, row.call(s), row.want)
			if _, err := s.Get(ctx, "globex", "theirs"); err != nil {
				t.Errorf("the other owner's record is gone: %v", err)
			}
		})
	}
}

func (rs records[T]) testVersion(t *testing.T) {
	ctx := t.Context()
	s := rs.fill(t, 1)
	first, err := s.Get(ctx, "acme", "1")
	must(t, err)
	stored := *rs.version(&first)

	must(t, s.Update(ctx, first))
	want(t, "the caller's version", *rs.version(&first), stored)
	again, err := s.Get(ctx, "acme", "1")
	must(t, err)
	want(t, "stored version", *rs.version(&again), stored+1)

	rs.rename(&first, "stale")
	wantErr(t, s.Update(ctx, first), rs.conflict)
	must(t, s.Create(ctx, rs.make("acme", "new", "stale", "active"))) // the name was not taken
}

func (rs records[T]) testNames(t *testing.T) {
	ctx := t.Context()
	s := rs.fill(t, 2)
	rec, err := s.Get(ctx, "acme", "1")
	must(t, err)

	rs.rename(&rec, "name 2")
	wantErr(t, s.Update(ctx, rec), rs.duplicate)
	rs.rename(&rec, "fresh")
	must(t, s.Update(ctx, rec)) // so the refused update changed no version

	must(t, s.Create(ctx, rs.make("acme", "3", "name 1", "active")))                 // given up by the update
	wantErr(t, s.Create(ctx, rs.make("acme", "4", "fresh", "active")), rs.duplicate) // taken by it
	must(t, s.Delete(ctx, "acme", "1"))
	must(t, s.Create(ctx, rs.make("acme", "4", "fresh", "active"))) // given up by the deletion
}

func (rs records[T]) testList(t *testing.T) {
	for _, row := range []struct {
		name, owner, status string
		page, size          int
		want                string
		total               int
	}{
		{"first page", "acme", "", 1, 2, "1 2", 5},
		{"second page", "acme", "", 2, 2, "3 4", 5},
		{"last page is short", "acme", "", 3, 2, "5", 5},
		{"beyond the last page", "acme", "", 4, 2, "", 5},
		{"far beyond the last page", "acme", "", math.MaxInt, 100, "", 5},
		{"all on one page", "acme", "", 1, 100, "1 2 3 4 5", 5},
		{"one status", "acme", "paused", 1, 100, "2 4", 2},
		{"pages of one status", "acme", "active", 2, 2, "5", 3},
		{"another owner", "globex", "", 1, 100, "theirs", 1},
		{"an owner never seen", "initech", "", 1, 100, "", 0},
		{"zero means page 1 of 20", "acme", "", 0, 0, "1 2 3 4 5", 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			recs, total, err := rs.list(t.Context(), rs.fill(t, 5), row.owner, row.status, row.page, row.size)
			must(t, err)
			want(t, "ids", rs.ids(recs), row.want)
			want(t, "total", total, row.total)
		})
	}
	t.Run("order of creation outlives updates and deletions", func(t *testing.T) {
		s := rs.fill(t, 4)
		rec, err := s.Get(t.Context(), "acme", "1")
		must(t, err)
		rs.rename(&rec, "zzz")
		must(t, s.Update(t.Context(), rec))
		must(t, s.Delete(t.Context(), "acme", "3"))
		must(t, s.Create(t.Context(), rs.make("acme", "0", "aaa", "active")))
		recs, _, err := rs.list(t.Context(), s, "acme", "", 1, 100)
		must(t, err)
		want(t, "ids", rs.ids(recs), "1 2 4 0")
	})
}

func (rs records[T]) testScan(t *testing.T) {
	s := rs.fill(t, 3)
	t.Run("every record of every owner", func(t *testing.T) {
		var recs []T
		must(t, s.Scan(t.Context(), func(rec T) error { recs = append(recs, rec); return nil }))
		want(t, "ids", rs.ids(recs), "1 2 3 theirs")
	})
	t.Run("stops at the first error", func(t *testing.T) {
		calls, stop := 0, errors.New("stop")
		wantErr(t, s.Scan(t.Context(), func(T) error { calls++; return stop }), stop)
		want(t, "calls", calls, 1)
	})
	t.Run("stops when the context ends", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		wantErr(t, s.Scan(ctx, func(T) error { calls++; cancel(); return nil }), context.Canceled)
		want(t, "calls", calls, 1)
	})
	t.Run("holds up nobody, and shows what was there when it began", func(t *testing.T) {
		calls := 0
		must(t, s.Scan(t.Context(), func(rec T) error {
			calls++
			done := make(chan error)
			go func() {
				done <- s.Create(t.Context(), rs.make("late", fmt.Sprint("late ", calls), fmt.Sprint(calls), "active"))
			}()
			return <-done
		}))
		want(t, "calls", calls, 4)
	})
}

func (rs records[T]) testConcurrentUpdates(t *testing.T) {
	s := rs.fill(t, 1)
	rec, err := s.Get(t.Context(), "acme", "1")
	must(t, err)
	errs := make([]error, 16)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = s.Update(t.Context(), rec) })
	}
	wg.Wait()
	succeeded := 0
	for _, err := range errs {
		if err == nil {
			succeeded++
			continue
		}
		wantErr(t, err, rs.conflict)
	}
	want(t, "updates of one version that succeed", succeeded, 1)
}

// openRole returns a function that opens a store and returns one of its roles.
func openRole[T any](role func(*memory.Store) versionedStore[T]) func(*testing.T) versionedStore[T] {
	return func(t *testing.T) versionedStore[T] {
		s, _ := open(t, memory.Options{})
		return role(s)
	}
}
