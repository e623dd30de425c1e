package xapi

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// reading is a read of several pages, of which a cursor carries what the next one
// needs: so a read goes on in the next process as it began.
type reading struct {
	sinceID string // posts with this id and smaller ones are left out, "" for none
	start   int64  // Unix time in seconds: posts from then on, 0 for all
	since   int64  // what the caller wants posts from, in Unix milliseconds, 0 for all
	audit   int64  // Unix time in seconds when an audit began, 0 for no audit
	newest  string // id of the newest post on the pages so far
	token   string // X's token of the page, "" for the first
}

const (
	cursorMark = "x1"
	cursorCut  = "~"
	// maxToken bounds a token of X, which has some 30 characters.
	maxToken = 1024
)

// next is the cursor of the page with a token.
func (r *reading) next(token string) string {
	return strings.Join([]string{cursorMark, r.sinceID, number(r.start), number(r.since), number(r.audit), r.newest, token}, cursorCut)
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// parseCursor reads what next wrote.
func parseCursor(cursor string) (reading, error) {
	var r reading
	bad := errors.New("cursor is not allowed: want one that a page gave as Next")
	parts := strings.Split(cursor, cursorCut)
	if len(parts) != 7 || parts[0] != cursorMark {
		return r, bad
	}
	ids, numbers := []*string{&r.sinceID, &r.newest}, []*int64{&r.start, &r.since, &r.audit}
	for i, text := range []string{parts[1], parts[5]} {
		if _, ok := numericID(text); !ok && text != "" {
			return r, bad
		}
		*ids[i] = text
	}
	for i, text := range parts[2:5] {
		n, err := strconv.ParseInt(text, 10, 64)
		if text != "" && (err != nil || n <= 0 || n > 1<<50) {
			return r, bad
		}
		*numbers[i] = n
	}
	r.token = parts[6]
	if !soundToken(r.token) {
		return r, bad
	}
	return r, nil
}

// soundToken reports whether a text can be a token of X: letters, digits, - and _.
func soundToken(token string) bool {
	return token != "" && len(token) <= maxToken && strings.IndexFunc(token, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '=' && c != '.'
	}) < 0
}

// numericID reads a post's id as a number, by which newer posts are greater.
func numericID(id string) (uint64, bool) {
	if len(id) > 20 || strings.HasPrefix(id, "+") {
		return 0, false
	}
	n, err := strconv.ParseUint(id, 10, 64)
	return n, err == nil
}

// maxAhead is how far a post's time may be ahead of the clock. An id of further ahead
// is no lower bound: it would hide what comes before.
const maxAhead = time.Minute

// see notes the posts of a page.
func (r *reading) see(posts []post, now time.Time) {
	newest, _ := numericID(r.newest)
	for i := range posts {
		id := posts[i].ID
		n, ok := numericID(id)
		if !ok || n <= newest {
			continue
		}
		if at, ok := fetcher.SnowflakeTime(id); ok && !at.After(now.Add(maxAhead)) {
			newest, r.newest = n, id
		}
	}
}
