package xapi

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// reading is the state of a read over several pages. The cursor contains the whole state, so
// another process can continue the read.
type reading struct {
	sinceID string // only posts with greater ids; "" for no such limit
	start   int64  // only posts since this Unix time, in seconds; 0 for no such limit
	since   int64  // the caller's Since, in Unix milliseconds; 0 if it has none
	audit   int64  // when the audit began, as Unix time in seconds; 0 if it is not one
	newest  string // id of the newest post on the pages so far
	token   string // X's token for the page; "" for the first page
}

const (
	cursorMark = "x1"
	cursorCut  = "~"
	// maxToken is the longest accepted token, in bytes. X's tokens have some 30.
	maxToken = 1024
)

// next returns the cursor for the page that X returns for token.
func (r *reading) next(token string) string {
	return strings.Join([]string{cursorMark, r.sinceID, number(r.start), number(r.since), number(r.audit), r.newest, token}, cursorCut)
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// parseCursor parses a cursor made by next.
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

// soundToken reports whether token has only characters of X's tokens: letters, digits, "-",
// "_", "=" and ".".
func soundToken(token string) bool {
	return token != "" && len(token) <= maxToken && strings.IndexFunc(token, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '=' && c != '.'
	}) < 0
}

// numericID parses a post's id. The number of a newer post is greater.
func numericID(id string) (uint64, bool) {
	if len(id) > 20 || strings.HasPrefix(id, "+") {
		return 0, false
	}
	n, err := strconv.ParseUint(id, 10, 64)
	return n, err == nil
}

// maxAhead is how far a post's time may be ahead of the clock. An id with a later time is not
// used as a lower bound, because it would hide all posts published before that time.
const maxAhead = time.Minute

// see updates newest from the posts of a page.
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
