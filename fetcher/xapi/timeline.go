package xapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Timeline reads one page of an account's posts, replies and reposts included.
func (f *Fetcher) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	id, looked := q.UserID, int64(0)
	if id == "" {
		var err error
		if id, looked, err = f.users.find(ctx, q.Username); err != nil {
			return fetcher.Page{}, err
		}
	}
	a, d, err := f.read(ctx, bucketTimelines, "/2/users/"+url.PathEscape(id)+"/tweets", func(n Names) url.Values {
		v := postQuery(n, f.cfg.Expand)
		v.Set("max_results", strconv.Itoa(mostPosts))
		return v
	})
	if err != nil {
		return fetcher.Page{}, err
	}
	page := fetcher.Page{UserID: id, RateLimit: a.rate, ServerTime: a.at}
	var posts list[post]
	lenient(json.Unmarshal(d.Data, &posts))
	for i := range posts {
		page.Tweets = append(page.Tweets, posts[i].tweet(&d.Includes))
	}
	page.Billed.Users = looked
	return page, nil
}

// accountError is what a problem of an account means: it is the account's fault, never
// the source's.
func accountError(p *problem) error {
	text := p.text()
	switch p.kind() {
	case "not-authorized-for-resource", "disallowed-resource", "resource-unavailable", "forbidden":
		return fmt.Errorf("xapi: %w: %s", fetcher.ErrProtected, text)
	case "resource-not-found":
		return fmt.Errorf("xapi: %w: %s", gone(p), text)
	}
	if strings.Contains(strings.ToLower(text), "suspended") {
		return fmt.Errorf("xapi: %w: %s", fetcher.ErrProtected, text)
	}
	return errors.New("xapi: " + text)
}
