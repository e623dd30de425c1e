package fetchertest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/planted"
)

// A kit with everything runs every case; one with the least skips some.
func TestSuite(t *testing.T) { TestFetcher(t, shelfKit(nil)) }

func TestSuiteWithTheLeast(t *testing.T) {
	kit := shelfKit(func(f fetcher.Fetcher) fetcher.Fetcher {
		return wrong{timeline: func(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
			q.Since, q.Seen, q.Known = time.Time{}, nil, 0
			p, err := f.Timeline(ctx, q)
			p.Version, p.UserID = 0, ""
			return p, err
		}}
	})
	open := kit.Open
	kit.Open = func(t testing.TB) Upstream {
		u := open(t)
		return Upstream{New: u.New, Accounts: u.Accounts, Post: u.Post}
	}
	TestFetcher(t, kit)
}

func TestKitRefuses(t *testing.T) {
	for want, kit := range map[string]Kit{
		"Kit.PageSize 0 is not allowed: want 4 to 1000": {},
		"Kit.PageSize 1001 is not allowed":              {PageSize: 1001},
		"Kit.Resolution -1ns is not allowed":            {PageSize: 4, Resolution: -1},
	} {
		if err := kit.validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestCasesHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range groups() {
		for _, c := range g.cases {
			if name := g.name + "/" + c.name; seen[name] {
				t.Errorf("two cases are called %q", name)
			} else {
				seen[name] = true
			}
		}
	}
	if len(seen) < 40 {
		t.Errorf("%d cases, want 40 or more", len(seen))
	}
}

// A call that does not end with its context is given up.
func TestStalledCallIsFound(t *testing.T) {
	free := make(chan struct{})
	defer close(free)
	kit := shelfKit(func(f fetcher.Fetcher) fetcher.Fetcher {
		return wrong{timeline: func(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
			<-free
			return fetcher.Page{}, nil
		}}
	})
	kit.patience = 50 * time.Millisecond
	said := record(t, kit, "errors/a call returns when its context ends")
	if len(said) != 1 || !strings.Contains(said[0], "has not returned "+(50*time.Millisecond).String()) {
		t.Errorf("reports %q", said)
	}
}

// record runs a case on a kit and gives what it reports.
func record(t *testing.T, kit Kit, name string) []string {
	t.Helper()
	for _, g := range groups() {
		for _, c := range g.cases {
			if g.name+"/"+c.name != name {
				continue
			}
			return planted.Reports(t, func(tb testing.TB) { run(tb, kit, c) })
		}
	}
	t.Fatalf("there is no case %q", name)
	return nil
}
