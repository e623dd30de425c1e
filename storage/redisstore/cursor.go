package redisstore

// A cursor of a log is the number of the last row shown, as 16 hexadecimal digits.

// isNumber reports whether a cursor is "" or 16 hexadecimal digits.
func isNumber(cursor string) bool {
	n, err := fromHex(cursor)
	return cursor == "" || err == nil && cursor == hex(n)
}

// pager selects the rows of a page. It gets all matching rows, one by one in order.
type pager struct {
	cursor string // number of the last row already shown; "" for none
	asc    bool
	skip   int // number of rows before the page
	room   int // number of rows that still fit the page
	last   string
	more   bool // more rows follow the page
}

// takes counts the next matching row, and reports whether the row is on the page.
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

// next returns the cursor of the next page, or "" if there is none.
func (p *pager) next() string {
	if !p.more {
		return ""
	}
	return p.last
}
