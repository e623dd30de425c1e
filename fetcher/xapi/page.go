package xapi

import (
	"context"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
)

// read requests a page of posts and decodes it.
func (f *Fetcher) read(ctx context.Context, path, query string) (*answer, *document[post], error) {
	a, err := f.client.get(ctx, path, query)
	if err != nil {
		return nil, nil, err
	}
	d, err := decode[post](a.body)
	return a, d, err
}

// fill adds the posts of an answer to a page, except posts that seen reports. Its result
// reports whether all posts were readable. An unreadable post becomes a Tweet without an id.
func fill(page *fetcher.Page, d *document[post], seen func(string) bool) (whole bool) {
	var reach fetcher.Reach
	whole = true
	if len(d.Data) > 0 {
		page.Tweets = make([]fetcher.Tweet, 0, len(d.Data))
	}
	for i := range d.Data {
		p := &d.Data[i]
		at := p.publishedAt()
		reach.Add(at)
		if p.ID == "" {
			whole = false
		} else if seen != nil && seen(p.ID) {
			page.Skipped++
			continue
		}
		page.Tweets = append(page.Tweets, p.tweet(at, &d.Includes))
	}
	page.OldestAt = reach.Time()
	return whole
}

// pageSize returns the number of posts to request, at least least. If limit is set, it returns
// limit. For a read with a lower bound it returns the maximum, because X bills only the posts
// that exist. Otherwise it returns first.
func pageSize(limit, least, first int, bounded bool) int {
	switch {
	case limit > 0:
		return min(max(limit, least), mostPosts)
	case bounded:
		return mostPosts
	case first > 0:
		return max(first, least)
	}
	return least
}

// parameters builds a list of query parameters, each preceded by an &.
type parameters struct{ strings.Builder }

func (p *parameters) set(name, value string) {
	if value != "" {
		p.WriteString("&" + name + "=" + value)
	}
}

func (p *parameters) count(name string, n int) { p.set(name, strconv.Itoa(n)) }
