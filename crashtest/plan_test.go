package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// Which points a life may be planned to end at.
func TestChooserFollowsTheStore(t *testing.T) {
	for _, row := range []struct {
		name, store      string
		fresh, retaining bool
		want, never      []string
	}{
		{"a store that was never opened", kindSQLite, true, false,
			[]string{"sqlite.schema.script", "sqlite.schema.committed"}, []string{"commit.done", "store.closed"}},
		{"one in use", kindSQLite, false, false,
			[]string{"commit.done", "store.closed", "store.opened", "sqlite.tx.written"}, []string{"sqlite.schema.script", retentionPoint}},
		{"one that removes", kindSQLite, false, true, []string{retentionPoint, "commit.done"}, []string{"sqlite.schema.script"}},
		{"redis", kindRedis, false, true, []string{"commit.done", "ledger.release.done"}, []string{retentionPoint, "sqlite.tx.written"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newChooser(1, row.store, 10)
			planned := make(map[string]int)
			for range 2000 {
				planned[c.next(row.fresh, row.retaining).point.name]++
			}
			for _, name := range append(row.want, "") {
				if planned[name] == 0 {
					t.Errorf("%q was never planned: %v", name, planned)
				}
			}
			for _, name := range row.never {
				if planned[name] > 0 {
					t.Errorf("%q was planned", name)
				}
			}
		})
	}
}

// Points with few hits come first, until each has its share.
func TestChooserIsFair(t *testing.T) {
	const want = 3
	c := newChooser(1, kindRedis, want)
	for range 200 {
		p := c.next(false, false)
		if p.after < soonest || p.after > latest || p.skip > p.point.skip {
			t.Fatalf("plan %+v is out of bounds", p)
		}
		if p.point.name != "" {
			c.hits[p.point.name]++
		}
	}
	for _, p := range c.of {
		if n := c.hits[p.name]; n != want {
			t.Errorf("%s was planned %d times, want %d", p.name, n, want)
		}
	}
}

// A long run can give each point its hits.
func TestChooserHasTimeForAllPoints(t *testing.T) {
	for _, kind := range kinds {
		if n := len(pointsOf(kind)); float64(n)/killsPerHit > 0.97*namedShare {
			t.Errorf("%s has %d points, each wanted once in %d kills: more than %g of all kills", kind, n, killsPerHit, namedShare)
		}
	}
}

func TestChooserRepeats(t *testing.T) {
	plans := func() (list []plan) {
		c := newChooser(7, kindSQLite, 5)
		for range 50 {
			list = append(list, c.next(false, true))
		}
		return list
	}
	if !slices.Equal(plans(), plans()) {
		t.Error("the same seed planned other kills")
	}
}

func TestPointsAreNamedOnce(t *testing.T) {
	seen := make(map[string]bool)
	for _, p := range points {
		if seen[p.name] {
			t.Errorf("point %s is there twice", p.name)
		}
		seen[p.name] = true
	}
	if len(pointsOf(kindRedis)) < 20 {
		t.Errorf("%d points for redis, want at least 20", len(pointsOf(kindRedis)))
	}
}

// A point that was renamed or lost in the store would only be missed in a long
// run.
func TestPointsAreInTheStore(t *testing.T) {
	files, err := filepath.Glob("../storage/sqlite/*.go")
	if err != nil {
		t.Fatal(err)
	}
	hits := regexp.MustCompile(`crashpoint\.Hit\("([^"]+)"\)`)
	var inStore, inTable []string
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range hits.FindAllSubmatch(src, -1) {
			inStore = append(inStore, string(m[1]))
		}
	}
	for _, p := range points {
		if p.store == kindSQLite {
			inTable = append(inTable, p.name)
		}
	}
	slices.Sort(inStore)
	slices.Sort(inTable)
	if !slices.Equal(inStore, inTable) {
		t.Errorf("storage/sqlite has the points %q, and the table has %q", inStore, inTable)
	}
}
