package fetcher_test

import (
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// board is a platform with one account, in memory: newest post first.
type board []fetcher.Tweet

func (b board) Timeline(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	if q.Username != "nasa" {
		return fetcher.Page{}, fmt.Errorf("board: account %q: %w", q.Username, fetcher.ErrNotFound)
	}
	page := fetcher.Page{UserID: "11348282"}
	var reach fetcher.Reach // of the posts that are left out, too
	for _, post := range b {
		reach.Add(post.PublishedAt)
		if q.Seen != nil && q.Seen(post.ID) {
			page.Skipped++
			continue
		}
		page.Tweets = append(page.Tweets, post)
	}
	page.OldestAt = reach.Time()
	return page, nil
}

// tweet maps a post of the board.
func tweet(id, text string, at time.Time) fetcher.Tweet {
	return fetcher.Tweet{ID: id, Text: text, FullText: text, UserID: "11348282", Username: "nasa", CreatedAt: fetcher.FormatTime(at), PublishedAt: at}
}

// A platform is one method. What it leaves out because it was seen it counts, and
// it tells errors that an engine acts upon by wrapping those of this package.
func ExampleFetcher() {
	var platform fetcher.Fetcher = board{
		tweet("3", "Lift-off", time.Date(2026, 3, 1, 12, 0, 5, 0, time.UTC)),
		tweet("2", "T minus 10", time.Date(2026, 3, 1, 11, 59, 55, 0, time.UTC)),
		tweet("1", "T minus 20", time.Date(2026, 3, 1, 11, 59, 45, 0, time.UTC)),
	}
	page, err := platform.Timeline(context.Background(), fetcher.TimelineQuery{
		Username: "nasa",
		Seen:     func(id string) bool { return id != "3" },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Tweets[0].Text, page.Skipped, page.OldestAt.Format(time.TimeOnly))

	_, err = platform.Timeline(context.Background(), fetcher.TimelineQuery{Username: "nobody"})
	fmt.Println(err)
	// Output:
	// Lift-off 2 11:59:55
	// board: account "nobody": fetcher: not found
}
