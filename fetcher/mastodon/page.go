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

// maxPosts is the largest accepted number of posts in a page. Some servers send more posts than
// requested, but none sends ten times as many.
const maxPosts = 10 * maxPageSize

// posts is a decoded answer.
type posts struct {
	tweets  []fetcher.Tweet // without the skipped posts
	skipped int             // posts that TimelineQuery.Seen reported
	reach   fetcher.Reach
	total   int    // elements of the list, posts or not
	lastID  string // id of the last post with an id; "" if there is none
}

// head has the members of a post that decodePage needs before decoding it. It shares memory
// with the answer.
type head struct {
	raw    []byte // the whole post
	id     []byte
	at     time.Time
	pinned bool
	known  bool // TimelineQuery.Seen reports it
}

// statuses is the plan to scan a list of posts. readHead uses the indices of its paths.
var statuses = scan.NewPlan("", nil, []string{"id", "created_at", "pinned"})

// readHead reads the current element of s. If it is not an object, only raw is set.
func readHead(s *scan.Scanner) head {
	createdAt, _ := s.Value(1).Text()
	h := head{raw: s.Element(), id: identText(s.Value(0)), pinned: string(s.Value(2)) == "true"}
	h.at, _ = parseTime(string(createdAt))
	return h
}

// decodePage decodes a list of statuses, except those that seen reports. It decodes each status
// separately, so an unreadable status does not affect the others. It returns ErrMalformed if
// the body is not a complete list.
func decodePage(body []byte, seen func(id string) bool) (posts, error) {
	var room [maxPageSize]head // avoids an allocation unless the page is longer
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

// allIDs returns the ids of all heads joined in one string, with only one allocation.
func allIDs(heads []head) string {
	var room [maxPageSize * 20]byte
	ids := room[:0]
	for i := range heads {
		ids = append(ids, heads[i].id...)
	}
	return string(ids)
}

// pinnedOnTop returns the number of pinned posts at the top of the page that are out of order.
// These are the leading pinned posts up to the last one that is older than a post below it. It
// does not count pinned posts in order of time, as most servers send them.
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

// nextCursor returns the max_id of the page of older posts, or "" if there is none. It also
// returns "" if the result would be the cursor of the page just read, because a server that
// ignores max_id would send the same page forever.
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

// linkNext parses the Link header (RFC 8288). It returns the max_id in the URL of rel="next".
// last reports whether there is only a rel="prev", as on Mastodon's last page. The rest of the
// URL is not used, because behind a proxy its host and scheme are often wrong.
func linkNext(h http.Header) (maxID string, last bool) {
	var next, prev bool
	for _, line := range h.Values("Link") {
		// A link is <address> followed by its parameters.
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

// linkRel returns the value of rel from a link's parameters, such as `; rel="next", `,
// in lower case.
func linkRel(params string) string {
	for _, param := range strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ',' }) {
		name, value, _ := strings.Cut(param, "=")
		if strings.EqualFold(strings.TrimSpace(name), "rel") {
			return strings.ToLower(strings.Trim(strings.TrimSpace(value), `"`))
		}
	}
	return ""
}
