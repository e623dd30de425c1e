package xapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
)

// maxPosts bounds what is taken for a page: ten times what an answer may have.
const maxPosts = 10 * mostPosts

// read requests an endpoint in the names that it takes.
func (f *Fetcher) read(ctx context.Context, endpoint, path string, query func(Names) string) (a *answer, d *document, err error) {
	err = f.names.try(endpoint, func(n Names) (err error) {
		a, err = f.client.fetch(ctx, path, query(n))
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if d, err = decodeDocument(a.body); err != nil {
		return nil, nil, err
	}
	return a, d, nil
}

// posts reads the posts of an answer. One that cannot be read is empty; whole says that
// none is.
func (d *document) posts() (posts []post, whole bool, err error) {
	data := bytes.TrimSpace(d.Data)
	if len(data) == 0 || string(data) == "null" {
		if d.Meta.ResultCount > 0 {
			return nil, false, fmt.Errorf("%w: %d posts, and no data", fetcher.ErrMalformed, d.Meta.ResultCount)
		}
		return nil, true, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, false, fmt.Errorf("%w: data: want a list of posts", fetcher.ErrMalformed)
	}
	if len(list) > maxPosts {
		return nil, false, fmt.Errorf("%w: a page of more than %d posts", fetcher.ErrMalformed, maxPosts)
	}
	posts, whole = make([]post, len(list)), true
	for i, raw := range list {
		if lenient(json.Unmarshal(raw, &posts[i])) != nil || posts[i].ID == "" {
			whole = false
		}
	}
	return posts, whole, nil
}

// fill maps posts to a page, less those that are known.
func fill(page *fetcher.Page, posts []post, in *includes, seen func(string) bool) {
	var reach fetcher.Reach
	for i := range posts {
		t := fetcher.Tweet{ID: string(posts[i].ID)}
		posts[i].setTime(&t)
		reach.Add(t.PublishedAt)
		if t.ID != "" && seen != nil && seen(t.ID) {
			page.Skipped++
			continue
		}
		page.Tweets = append(page.Tweets, posts[i].tweet(in))
	}
	page.OldestAt = reach.Time()
}

// postIDs are the ids of posts.
func postIDs(posts []post) []string {
	out := make([]string, len(posts))
	for i := range posts {
		out[i] = string(posts[i].ID)
	}
	return out
}

// nextToken is the token of the page of older posts, "" when there is none.
func (d *document) nextToken() (string, error) {
	token := d.Meta.NextToken
	if token != "" && !soundToken(token) {
		return "", fmt.Errorf("%w: meta.next_token is no token", fetcher.ErrMalformed)
	}
	return token, nil
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

// behind returns a query that has what is asked for of posts, and then parameters.
func (f *Fetcher) behind(parameters string) func(Names) string {
	return func(n Names) string { return f.asks[n] + parameters }
}

// parameters writes a query's parameters, each with an & before it.
type parameters struct{ strings.Builder }

func (p *parameters) set(name, value string) {
	if value != "" {
		p.WriteString("&" + name + "=" + value)
	}
}

func (p *parameters) count(name string, n int) { p.set(name, strconv.Itoa(n)) }
