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

// maxPosts bounds what is taken for a page: more than any platform gives.
const maxPosts = 1000

// tweets is the plan for a page; readHead has the values' numbers.
var tweets = scan.NewPlan("data", []string{"next_cursor"}, []string{"id", "created_at", "user_id", "username"})

// head is what has to be known of a post before it is worth decoding.
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

// decodePage reads a page, each post on its own, so that one that is broken does not
// lose the others, and decodes those that are not known. The error is ErrMalformed
// when the body is not a whole page.
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
	if next, _ := s.Top(0).Text(); string(next) != q.Cursor { // or it would lead in a circle
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
		_ = unmarshal(h.raw, &t) // one that is no object is an empty post, which is dropped and counted
		t.PublishedAt = h.at
		whole(&t)
		page.Tweets = append(page.Tweets, t)
	}
	page.OldestAt = reach.Time()
	return page, nil
}

// userID is the account's id: that of the posts with its name or, where the service
// writes the name in another way, the one that all posts have. "" if that is unclear.
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

// unmarshal is json.Unmarshal without the complaint about a value of another type:
// encoding/json leaves that one field at its zero value and reads on.
func unmarshal(b []byte, v any) error {
	err := json.Unmarshal(b, v)
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		return nil
	}
	return err
}
