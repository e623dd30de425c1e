package memory

import (
	"strconv"
	"strings"
)

// place is the position of a row in a log. For a delivery, n is the event's sequence number and
// sub the delivery's index within the event. For a ledger entry, n is its number and sub 0.
type place struct{ n, sub uint64 }

func (p place) before(q place) bool { return p.n < q.n || p.n == q.n && p.sub < q.sub }

func (p place) String() string {
	return strconv.FormatUint(p.n, 10) + "." + strconv.FormatUint(p.sub, 10)
}

// placeOf parses the format that place.String writes.
func placeOf(cursor string) (p place, ok bool) {
	n, sub, _ := strings.Cut(cursor, ".")
	var errN, errSub error
	p.n, errN = strconv.ParseUint(n, 10, 64)
	p.sub, errSub = strconv.ParseUint(sub, 10, 64)
	return p, errN == nil && errSub == nil
}

// cut returns the bounds of a page among n rows. If cursor is empty it is the page with the given
// number, otherwise the page after cursor. next is the cursor of the page that follows. ok is false
// if cursor is malformed.
func cut(n int, at func(i int) place, cursor string, asc bool, page, size int) (from, to int, next string, ok bool) {
	from, to = pageBounds(n, page, size)
	if cursor != "" {
		p, ok := placeOf(cursor)
		if !ok {
			return 0, 0, "", false
		}
		first := 0
		for first < n && (asc && !p.before(at(first)) || !asc && !at(first).before(p)) {
			first++
		}
		from, to = pageBounds(n-first, 1, size)
		from, to = from+first, to+first
	}
	if from < to && to < n {
		next = at(to - 1).String()
	}
	return from, to, next, true
}
