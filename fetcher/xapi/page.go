package xapi

import (
	"context"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
)

// read requests posts.
func (f *Fetcher) read(ctx context.Context, path, query string) (*answer, *document[post], error) {
	a, err := f.client.get(ctx, path, query)
	if err != nil {
		return nil, nil, err
	}
	d, err := decode[post](a.body)
	return a, d, err
}

// fill maps the posts of an answer to a page, less those that are known. It reports
// whether all of them could be read: those that could not are empty.
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

// pageSize is how many posts to ask for: as many as the caller wants, else of a read
// that has a bound as many as there can be, which costs no more than there are.
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

// parameters writes a query's parameters, each with an & before it.
type parameters struct{ strings.Builder }

func (p *parameters) set(name, value string) {
	if value != "" {
		p.WriteString("&" + name + "=" + value)
	}
}

func (p *parameters) count(name string, n int) { p.set(name, strconv.Itoa(n)) }
