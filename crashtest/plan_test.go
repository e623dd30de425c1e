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
			list = append(list, c.next(false))
		}
		return list
	}
	if !slices.Equal(plans(), plans()) {
		t.Error("the same seed planned other kills")
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
