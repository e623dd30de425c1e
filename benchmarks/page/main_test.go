package main

import (
	"encoding/json"
	"testing"
)

func TestContestantsAgree(t *testing.T) {
	ps, err := platforms()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ps {
		for _, n := range cases {
			t.Run(p.name+", "+n.name, func(t *testing.T) {
				impls, err := contestants(p, n)
				if err != nil {
					t.Fatal(err)
				}
				if err := check(impls, p.ids, n.count); err != nil {
					t.Error(err)
				}
			})
		}
		for _, body := range p.bodies {
			if !json.Valid(body) {
				t.Errorf("%s: the page is not JSON", p.name)
			}
		}
		if p.name != "bluesky PDS" && p.name != "remote" && (p.size < 44<<10 || p.size > 52<<10) {
			t.Errorf("%s: a page of %d bytes, want about 48 KiB", p.name, p.size)
		}
	}
}

func TestFeedContestantsAgree(t *testing.T) {
	f, err := newFeedPage()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range feedCases {
		impls, err := f.contestants(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := check(impls, f.ids, c.count); err != nil || len(f.ids) != feedEntries {
			t.Errorf("%s: %d ids, error %v", c.name, len(f.ids), err)
		}
	}
}
