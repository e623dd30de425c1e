package bluesky

import (
	"fmt"
	"net/url"
)

// collections has the collections of a timeline. The elements of positions have the same order.
var collections = [2]string{postCollection, repostCollection}

// position says how far a collection of a PDS was read.
type position struct {
	cursor string // the server's cursor for the part to read; "" for the newest part
	below  string // skip records of that part with this key or a greater one; "" to skip none
	end    bool   // the collection was read to its end
}

type positions [len(collections)]position

// formatCursor encodes the positions as a Page.Next. It returns "" if all have ended.
func formatCursor(ps positions) string {
	v := url.Values{}
	left := false
	for i, p := range ps {
		if p.end {
			continue
		}
		left = true
		v[collections[i]] = []string{p.cursor, p.below}
	}
	if !left {
		return ""
	}
	return v.Encode()
}

// parseCursor decodes the result of formatCursor. For "" it returns the positions of the
// newest page.
func parseCursor(s string) (positions, error) {
	var ps positions
	if s == "" {
		return ps, nil
	}
	v, err := url.ParseQuery(s)
	if err != nil {
		v = nil
	}
	known := 0
	for i, collection := range collections {
		switch p := v[collection]; len(p) {
		case 0:
			ps[i].end = true
		case 2:
			ps[i] = position{cursor: p[0], below: p[1]}
			known++
		}
	}
	if known == 0 || known != len(v) {
		return positions{}, fmt.Errorf("cursor %.64q is not allowed: want the Next of an earlier page", s)
	}
	return ps, nil
}
