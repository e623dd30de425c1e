package mastodon

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/scan"
)

// maxPosts bounds what is accepted as a page: some servers send more posts than
// were asked for, but none ten times as many.
const maxPosts = 10 * maxPageSize

// posts is a decoded answer.
type posts struct {
	tweets  []fetcher.Tweet
	skipped int
	reach   fetcher.Reach
	total   int    // elements of the list, of whatever kind
	lastID  string // the oldest post's id, "" when none has one
}

// head is what decides whether a post is decoded, and how. It shares the memory of
// the answer.
type head struct {
	raw    []byte // the whole post
	id     []byte
	at     time.Time
	pinned bool
	known  bool // TimelineQuery.Seen has it
}

// statuses is the plan for a list of posts; readHead uses the indices of its values.
var statuses = scan.NewPlan("", nil, []string{"id", "created_at", "pinned"})

// readHead reads the element that s is at. For one that is not an object, only raw
// is set.
func readHead(s *scan.Scanner) head {
	createdAt, _ := s.Value(1).Text()
	h := head{raw: s.Element(), id: identText(s.Value(0)), pinned: string(s.Value(2)) == "true"}
	h.at, _ = parseTime(string(createdAt))
	return h
}

// decodePage decodes the statuses of a list that seen does not report. Each is
// decoded on its own, so that a broken one does not lose the others. The error is
// ErrMalformed when the body is not a whole list.
func decodePage(body []byte, seen func(id string) bool) (posts, error) {
	var room [maxPageSize]head // on the stack, unless the page is longer than asked for
	heads := room[:0]
	s := statuses.Scan(body)
	for s.Next() {
		if len(heads) == maxPosts {
			return posts{}, fmt.Errorf("%w: list of more than %d posts", fetcher.ErrMalformed, maxPosts)
		}
		heads = append(heads, readHead(&s))
	}
	if err := s.Err(); err != nil {
		return posts{}, fmt.Errorf("list of posts: %w", err)
	}
	if _, ok := s.Len(); !ok {
		return posts{}, fmt.Errorf("%w: want a list of posts", fetcher.ErrMalformed)
	}
	pinned := pinnedOnTop(heads)
	p := posts{total: len(heads)}
	ids := allIDs(heads)
	for i := range heads {
		h := &heads[i]
		id := ids[:len(h.id)]
		ids = ids[len(h.id):]
		if i >= pinned {
			p.reach.Add(h.at)
			if id != "" {
				p.lastID = id
			}
		}
		if h.known = id != "" && seen != nil && seen(id); h.known {
			p.skipped++
		}
	}
	p.tweets = make([]fetcher.Tweet, 0, p.total-p.skipped)
	for i := range heads {
		if heads[i].known {
			continue
		}
		var s status
		s.decode(heads[i].raw, false)
		t := s.tweet()
		t.Pinned = i < pinned
		p.tweets = append(p.tweets, t)
	}
	return p, nil
}

// allIDs returns the ids joined, so that they need one allocation.
func allIDs(heads []head) string {
	var room [maxPageSize * 20]byte
	ids := room[:0]
	for i := range heads {
		ids = append(ids, heads[i].id...)
	}
	return string(ids)
}

// pinnedOnTop counts the pinned posts that stand at the top out of order: the
// leading ones, up to the last that is older than a post below it. Most servers
// leave pinned posts where they stand by their time; those count as other posts.
func pinnedOnTop(heads []head) int {
	lead := 0
	for lead < len(heads) && heads[lead].pinned {
		lead++
	}
	var newest time.Time
	for _, h := range heads[lead:] {
		if h.at.After(newest) {
			newest = h.at
		}
	}
	for lead > 0 && !heads[lead-1].at.Before(newest) {
		lead--
		if heads[lead].at.After(newest) {
			newest = heads[lead].at
		}
	}
	return lead
}

// nextCursor returns the max_id of the page of older posts, "" when there is none.
// It never returns the cursor that was asked for, so that a server that ignores
// max_id is not asked the same for ever.
func nextCursor(h http.Header, p posts, limit int, cursor string) string {
	if p.total == 0 {
		return ""
	}
	next, last := linkNext(h)
	if next == "" && (!last || p.total >= limit) {
		next = p.lastID
	}
	if next == cursor {
		return ""
	}
	return next
}

// linkNext reads the Link header (RFC 8288): the max_id of its rel="next", and
// whether a rel="prev" alone marks the page as the last one, as Mastodon does. Only
// the id is taken from the address: behind a proxy its host and scheme are often
// not the public ones.
func linkNext(h http.Header) (maxID string, last bool) {
	var next, prev bool
	for _, line := range h.Values("Link") {
		// Each link is <address> and parameters up to the next link.
		for _, item := range strings.Split(line, "<")[1:] {
			target, params, ok := strings.Cut(item, ">")
			if !ok {
				continue
			}
			switch linkRel(params) {
			case "next":
				next = true
				if u, err := url.Parse(target); err == nil && maxID == "" {
					maxID = u.Query().Get("max_id")
				}
			case "prev":
				prev = true
			}
		}
	}
	return maxID, prev && !next
}

// linkRel finds the rel among a link's parameters, such as `; rel="next", `.
func linkRel(params string) string {
	for _, param := range strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ',' }) {
		name, value, _ := strings.Cut(param, "=")
		if strings.EqualFold(strings.TrimSpace(name), "rel") {
			return strings.ToLower(strings.Trim(strings.TrimSpace(value), `"`))
		}
	}
	return ""
}
