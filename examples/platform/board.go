package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// board reads the timelines of a message board. Its API is
//
//	GET /posts?user=ann&before=42
//	{"posts": [{"id": "41", "text": "Hello", "at": "2026-11-21T09:00:00.123Z"}], "more": true}
//
// newest first; before is the id of the last post that was read, and 404 that there is no such user.
type board struct{ client *upstream.Client }

func newBoard(address string) (*board, error) {
	client, err := upstream.New(upstream.Config{BaseURL: address})
	return &board{client}, err
}

// Timeline implements fetcher.Fetcher. The client's errors are those of package fetcher.
func (b *board) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	answer, err := b.client.Get(ctx, "/posts?"+url.Values{"user": {q.Username}, "before": {q.Cursor}}.Encode(), nil)
	if err != nil {
		return fetcher.Page{}, err
	}
	defer answer.Release()
	var in struct {
		Posts []struct {
			ID, Text string
			At       time.Time
		}
		More bool
	}
	if err := json.Unmarshal(answer.Body, &in); err != nil {
		return fetcher.Page{}, fmt.Errorf("board: %w: %w", fetcher.ErrMalformed, err)
	}
	page := fetcher.Page{RateLimit: answer.RateLimit, ServerTime: answer.ServerTime}
	var reach fetcher.Reach // how far back the page goes, also with posts that are left out
	for _, p := range in.Posts {
		reach.Add(p.At)
		if q.Seen != nil && q.Seen(p.ID) {
			page.Skipped++
			continue
		}
		page.Tweets = append(page.Tweets, fetcher.Tweet{
			ID: p.ID, Text: p.Text, FullText: p.Text, Username: q.Username, CreatedAt: fetcher.FormatTime(p.At), PublishedAt: p.At,
			Permalink: "https://board.example/posts/" + url.PathEscape(p.ID),
		})
	}
	page.OldestAt = reach.Time()
	if n := len(in.Posts); in.More && n > 0 {
		page.Next = in.Posts[n-1].ID
	}
	return page, nil
}
