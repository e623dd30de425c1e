package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/fetcher"
	feeds "github.com/streamwatch/streamwatch/fetcher/feed"
)

// feedEntries is how many entries the feed has.
const feedEntries = 50

// feedDocument is a feed and who reads it.
type feedDocument struct {
	body  []byte
	ids   []string
	seen  map[string]bool
	feeds *feeds.Fetcher
	query fetcher.TimelineQuery
}

// newFeedPage is an RSS feed as a blog has it, on a server without validators.
func newFeedPage() (*feedDocument, error) {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/">` +
		`<channel><title>Ann on ice</title><link>https://ice.example.org/</link><description>A diary</description><language>en</language>`)
	for n := feedEntries; n > 0; n-- {
		at := answeredAt.Add(-time.Duration(feedEntries-n) * 7 * time.Hour)
		fmt.Fprintf(&b, `<item><title>Day %d of the expedition</title><link>https://ice.example.org/%d/</link><dc:creator><![CDATA[Ann]]></dc:creator><pubDate>%s</pubDate>`+
			`<category><![CDATA[ice]]></category><guid isPermaLink="false">https://ice.example.org/?p=%d</guid><description><![CDATA[12 km over the ice]]></description>`+
			`<content:encoded><![CDATA[%s]]></content:encoded></item>`, n, n, at.Format(time.RFC1123Z), n, strings.Repeat(fmt.Sprintf("<p>"+lead+"</p>", n), 8))
	}
	b.WriteString("</channel></rss>")
	f := &feedDocument{body: []byte(b.String()), seen: map[string]bool{}, query: fetcher.TimelineQuery{Username: server + "/feed"}}
	var err error
	if f.feeds, err = feeds.New(feeds.Config{Transport: &memory{bodies: [][]byte{f.body}}, HostGap: time.Nanosecond, AllowPrivate: true, Now: clock}); err != nil {
		return nil, err
	}
	page, err := f.feeds.Timeline(context.Background(), f.query)
	if err != nil {
		return nil, err
	}
	for i := range page.Tweets {
		f.ids = append(f.ids, page.Tweets[i].ID)
		f.seen[page.Tweets[i].ID] = true
	}
	f.query.Seen = func(id string) bool { return f.seen[id] }
	return f, nil
}

// feedCases are how a feed is read: it is the same as last time, or has no new entries or
// new ones alone.
var feedCases = []pageCase{{name: "unchanged", known: true}, {name: "nothing new"}, {name: "all new", count: feedEntries}}

func (f *feedDocument) contestants(c pageCase) ([]contestant, error) {
	query := f.query
	query.Seen = func(id string) bool { return c.count == 0 && f.seen[id] }
	if c.known {
		first, err := f.feeds.Timeline(context.Background(), query)
		if err != nil {
			return nil, err
		}
		query.Known = first.Version
	}
	var fresh []string
	return []contestant{
		{report.Ours, func() (int, error) {
			page, err := f.feeds.Timeline(context.Background(), query)
			if err == nil && page.Unchanged != (query.Known != 0) {
				err = fmt.Errorf("unchanged %t, want %t", page.Unchanged, query.Known != 0)
			}
			fresh = fresh[:0]
			for i := range page.Tweets {
				fresh = append(fresh, page.Tweets[i].ID)
			}
			return page.Skipped + len(page.Tweets), err
		}, func() []string { return fresh }},
		{"gofeed", func() (int, error) {
			parsed, err := gofeed.NewParser().Parse(bytes.NewReader(f.body))
			if err != nil {
				return 0, err
			}
			return len(parsed.Items), nil
		}, nil},
	}, nil
}
