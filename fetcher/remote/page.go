package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/scan"
	"github.com/streamwatch/streamwatch/monitor"
)

// maxPosts bounds what is accepted as a page; no platform has as many.
const maxPosts = 1000

// tweets is the plan for a page; readHead uses the indices of its values.
var tweets = scan.NewPlan("data", []string{"next_cursor"}, []string{"id", "created_at", "user_id", "username"})

// head is what decides whether a post is decoded, and how.
type head struct {
	raw                  []byte // the whole post
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

// decodePage decodes the posts of a page that q.Seen does not report. Each is decoded on
// its own, so that a broken one does not lose the others. The error is ErrMalformed when
// the body is not a whole page.
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
	} else { // the last of the lists, if there are several
		heads = heads[len(heads)-n:]
	}
	page := fetcher.Page{UserID: userID(heads, q.Username)}
	if next, _ := s.Top(0).Text(); string(next) != q.Cursor { // else it would be read for ever
		page.Next = string(next)
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
		t.PublishedAt = h.at
		whole(&t)
		page.Tweets = append(page.Tweets, t)
	}
	page.OldestAt = reach.Time()
	return page, nil
}

// userID returns the account's id: that of the posts with its name or, if the service
// writes the name in another way, the one that all posts have; "" if they differ.
func userID(heads []head, username string) string {
	all, same := "", true
	for i := range heads {
		id := heads[i].userID
		if id != "" && monitor.Key(heads[i].username) == monitor.Key(username) {
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

// unmarshal is json.Unmarshal without the error for a value of another type:
// encoding/json leaves that field at its zero value and reads on.
func unmarshal(b []byte, v any) error {
	err := json.Unmarshal(b, v)
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		return nil
	}
	return err
}
