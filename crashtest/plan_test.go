package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// Points with few hits come first, until each has its share.
func TestChooserIsFair(t *testing.T) {
	const want = 3
	c := newChooser(1, kindRedis, want)
	for range 200 {
		p := c.next(false)
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

// A point that was renamed or lost in the store would only be missed in a long
// run.
func TestPointsAreInTheStore(t *testing.T) {
	hits := regexp.MustCompile(`crashpoint\.Hit\("([^"]+)"\)`)
	for _, kind := range []string{kindSQLite, kindPostgres} {
		var inStore, inTable []string
		for _, dir := range []string{kind, "internal/sqlstore"} {
			files, err := filepath.Glob("../storage/" + dir + "/*.go")
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				src, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range hits.FindAllSubmatch(src, -1) {
					inStore = append(inStore, string(m[1]))
				}
			}
		}
		for _, p := range pointsOf(kind) {
			if p.stores != nil {
				inTable = append(inTable, p.name)
			}
		}
		slices.Sort(inStore)
		slices.Sort(inTable)
		if !slices.Equal(inStore, inTable) {
			t.Errorf("storage/%s has the points %q, and the table has %q", kind, inStore, inTable)
		}
	}
}
