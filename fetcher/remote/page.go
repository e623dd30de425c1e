package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/scan"
)

// maxPosts is the largest accepted number of posts in a page. No platform returns as many.
const maxPosts = 1000

// tweets is the plan to scan a page. readHead uses the indices of its paths.
var tweets = scan.NewPlan("data", []string{"next_cursor", "platform"}, []string{"id", "created_at", "user_id", "username"})

// head has the fields of a post that decodePage needs before decoding it.
type head struct {
	raw                  []byte // JSON of the whole post
	id, userID, username string
	at                   time.Time
}

func readHead(s *scan.Scanner) head {
	var text [4]string
	for i := range text {
		b, _ := s.Value(i).Text()
		text[i] = string(b)
	}
	return head{s.Element(), text[0], text[2], text[3], published(text[0], text[1])}
}

// decodePage decodes the posts of a page, except those that q.Seen reports as known. It decodes
// each post separately, so a broken post does not affect the others. If the body is not a
// complete page, the error is ErrMalformed.
func decodePage(body []byte, q fetcher.TimelineQuery) (fetcher.Page, error) {
	var heads []head
	s := tweets.Scan(body)
	for s.Next() {
		if len(heads) == maxPosts {
			return fetcher.Page{}, fmt.Errorf("%w: page of more than %d posts", fetcher.ErrMalformed, maxPosts)
		}
		heads = append(heads, readHead(&s))
	}
	if err := s.Err(); err != nil {
		return fetcher.Page{}, fmt.Errorf("page: %w", err)
	}
	if n, ok := s.Len(); !ok {
		return fetcher.Page{}, fmt.Errorf("%w: the answer has no list \"data\"", fetcher.ErrMalformed)
	} else { // if there are several lists, n counts the last one
		heads = heads[len(heads)-n:]
	}
	page := fetcher.Page{UserID: userID(heads, accountKey(q.Username))}
	if next, _ := s.Top(0).Text(); string(next) != q.Cursor { // the same cursor would be an endless loop
		page.Next = string(next)
	}
	platform := ""
	if of, _ := s.Top(1).Text(); writtenWith(accountKey(q.Username), string(of)) {
		platform = string(of)
	}
	var reach fetcher.Reach
	for i := range heads {
		h := &heads[i]
		reach.Add(h.at)
		if h.id != "" && q.Seen != nil && q.Seen(h.id) {
			page.Skipped++
			continue
		}
		var t fetcher.Tweet
		_ = unmarshal(h.raw, &t) // an element that is not an object is an empty post, which the engine drops and counts
		t.PublishedAt, t.Platform = h.at, platform
		if t.Entry != nil {
			t.Permalink = t.Entry.Link
		}
		whole(&t)
		page.Tweets = append(page.Tweets, t)
	}
	page.OldestAt = reach.Time()
	return page, nil
}

// userID returns the id of the account with that key. It is the author's id in a post with the
// account's name. If no post has the name, because the service spells it differently, it is the
// id that all posts have, or "" if they differ.
func userID(heads []head, key string) string {
	all, same := "", true
	for i := range heads {
		id := heads[i].userID
		if author := accountKey(heads[i].username); id != "" && (author == key || strings.HasSuffix(key, ":"+author)) {
			return id
		}
		if i == 0 {
			all = id
		}
		same = same && id == all
	}
	if same {
		return all
	}
	return ""
}

// unmarshal is like json.Unmarshal, but a value of a wrong type is not an error: encoding/json
// leaves that field zero and decodes the others.
func unmarshal(b []byte, v any) error {
	err := json.Unmarshal(b, v)
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		return nil
	}
	return err
}
