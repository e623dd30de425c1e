package mastodon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// maxPosts bounds what is taken for a page: servers that give more than was
// asked for exist, but none ten times as many.
const maxPosts = 10 * maxPageSize

// posts is a decoded answer.
type posts struct {
	tweets  []fetcher.Tweet
	skipped int
	reach   fetcher.Reach
	total   int    // elements of the list, of whatever kind
	lastID  string // the oldest post's id, "" when none has one
}

// head is what has to be known of a post before it is worth decoding.
type head struct {
	ID        ident  `json:"id"`
	CreatedAt string `json:"created_at"`
	Pinned    bool   `json:"pinned"`
	at        time.Time
}

// decodePage reads a list of statuses, each on its own, so that one that is
// broken does not lose the others. The error is ErrMalformed when the body is
// not a whole list.
func decodePage(body []byte, seen func(id string) bool) (posts, error) {
	elements, err := split(body)
	if err != nil {
		return posts{}, fmt.Errorf("%w: list of posts: %w", fetcher.ErrMalformed, err)
	}
	heads := make([]head, len(elements))
	for i, raw := range elements {
		// An element that is no object leaves an empty head.
		_ = unmarshal(raw, &heads[i])
		heads[i].at, _ = parseTime(heads[i].CreatedAt)
	}
	pinned := pinnedOnTop(heads)
	p := posts{total: len(elements), tweets: make([]fetcher.Tweet, 0, len(elements))}
	for i, raw := range elements {
		h := &heads[i]
		if i >= pinned {
			p.reach.Add(h.at)
			if h.ID != "" {
				p.lastID = string(h.ID)
			}
		}
		if h.ID != "" && seen != nil && seen(string(h.ID)) {
			p.skipped++
			continue
		}
		var s status
		_ = unmarshal(raw, &s)
		t := s.tweet()
		t.Pinned = i < pinned
		p.tweets = append(p.tweets, t)
	}
	return p, nil
}

// split cuts a JSON list into its elements.
func split(body []byte) ([]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	start, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if start != json.Delim('[') {
		return nil, fmt.Errorf("starts with %v in place of a list", start)
	}
	var elements []json.RawMessage
	for dec.More() {
		if len(elements) == maxPosts {
			return nil, fmt.Errorf("more than %d posts", maxPosts)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, err
		}
		elements = append(elements, raw)
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("text after the list")
	}
	return elements, nil
}

// pinnedOnTop counts the pinned posts that stand at the top out of order: the
// leading ones, up to the last that is older than a post below. Most servers
// mark pinned posts where they stand by their time, and those count as normal.
func pinnedOnTop(heads []head) int {
	lead := 0
	for lead < len(heads) && heads[lead].Pinned {
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

// nextCursor is the max_id of the page of older posts, "" when there is none.
// It never is the cursor that was asked for, so a server that ignores max_id
// can not be asked the same for ever.
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
// whether it calls the page the last one by a rel="prev" alone, as Mastodon
// does. Only the id is taken from the address: behind a proxy its host and
// scheme are often not the public ones.
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
