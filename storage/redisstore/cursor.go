package redisstore

// A cursor of a log is the number of the last row that was shown, as it stands in
// the log: 16 digits.

// isNumber says whether a cursor may be one of this package, or "".
func isNumber(cursor string) bool {
	n, err := fromHex(cursor)
	return cursor == "" || err == nil && cursor == hex(n)
}

// pager takes the rows of one page out of all that match, in their order.
type pager struct {
	cursor string // rows up to it are shown already; "" for none
	asc    bool
	skip   int // rows before the page
	room   int // rows that the page takes yet
	last   string
	more   bool // some follow the page
}

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

// next is the cursor for what follows, "" when nothing does.
func (p *pager) next() string {
	if !p.more {
		return ""
	}
	return p.last
}
