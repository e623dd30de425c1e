package searchtimeline_test

import (
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/searchtimeline"
)

func Example() {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{
		Accounts: []string{"nasa", "esa", "jaxa"},
		Now:      func() time.Time { return noon },
	})
	platform.PostAt("nasa", "count-down", noon.Add(-2*time.Minute), noon.Add(-2*time.Minute))
	platform.PostAt("esa", "ariane", noon.Add(-time.Minute), noon.Add(-time.Minute))

	f, err := searchtimeline.New(searchtimeline.Config{Searcher: platform})
	if err != nil {
		fmt.Println(err)
		return
	}
	pages, err := f.Timelines(context.Background(), []fetcher.TimelineQuery{{Username: "nasa"}, {Username: "esa"}, {Username: "jaxa"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range pages {
		fmt.Print(len(p.Tweets), " of its own, ", p.Others, " of others:")
		for _, t := range p.Tweets {
			fmt.Print(" ", t.Username, ": ", t.Text)
		}
		fmt.Println()
	}
	fmt.Println(platform.Searches("from:esa OR from:jaxa OR from:nasa"), "search")
	// Output:
	// 1 of its own, 1 of others: nasa: count-down
	// 1 of its own, 1 of others: esa: ariane
	// 0 of its own, 2 of others:
	// 1 search
}
