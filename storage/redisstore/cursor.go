package redisstore

// A cursor of a log is the number of the last row that was shown, in 16 hexadecimal digits.

// isNumber reports whether a cursor is "", or a number in that form.
func isNumber(cursor string) bool {
	n, err := fromHex(cursor)
	return cursor == "" || err == nil && cursor == hex(n)
}

// pager picks the rows of a page out of all that match, in their order.
type pager struct {
	cursor string // the last row that was shown already; "" for none
	asc    bool
	skip   int // how many rows come before the page
	room   int // how many more rows the page takes
	last   string
	more   bool // some follow the page
}

// takes reports whether the page has the next matching row, and counts it.
func (p *pager) takes(number string) bool {
	switch {
	case p.cursor != "" && (p.asc && number <= p.cursor || !p.asc && number >= p.cursor):
		return false
	case p.skip > 0:
		p.skip--
		return false
	case p.room == 0:
		p.more = true
		return false
	}
	p.room--
	p.last = number
	return true
}

// next returns the cursor of the next page, "" if there is none.
func (p *pager) next() string {
	if !p.more {
		return ""
	}
	return p.last
}
