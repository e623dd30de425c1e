package redisstore

import "context"

// A cursor of a log is the number of the last row shown, as 16 hexadecimal digits.

// isNumber reports whether a cursor is "" or 16 hexadecimal digits.
func isNumber(cursor string) bool {
	n, err := fromHex(cursor)
	return cursor == "" || err == nil && cursor == hex(n)
}

// pageQuery describes a page of an owner's deliveries (list is log) or entries (ledger).
type pageQuery struct {
	list, owner string
	asc         bool
	cursor      string // with a cursor the page is ignored
	page, size  int
	uncounted   bool // how many rows match need not be known

	conditions []any // of the list's scan script; nil if all rows match
	chunk      int   // the maximum number of rows that the script looks at
}

// pager selects the rows of a page. It gets all matching rows, one by one in order.
type pager struct {
	cursor string // number of the last row already shown; "" for none
	asc    bool
	skip   int // number of rows before the page
	room   int // number of rows that still fit the page
	ids    []any
	last   string
	more   bool // more rows follow the page
}

// add takes the next matching row: number and id.
func (p *pager) add(row string) {
	number := row[:stampLen]
	switch {
	case p.cursor != "" && (p.asc && number <= p.cursor || !p.asc && number >= p.cursor):
	case p.skip > 0:
		p.skip--
	case p.room == 0:
		p.more = true
	default:
		p.room--
		p.last, p.ids = number, append(p.ids, row[stampLen:])
	}
}

// rows returns the ids of the rows on a page, how many rows match, and the cursor of the next page,
// "" if there is none. With conditions it looks at the rows of the owner in several calls: at all, or
// if they need not be counted at those after the cursor until the page is full. Each call sees the
// state at its own moment.
func (s *Store) rows(ctx context.Context, q pageQuery) (ids []any, total int, next string, err error) {
	if q.cursor != "" {
		q.page = 1
	}
	from, size := pageBounds(q.page, q.size)
	var p pager
	if q.conditions == nil {
		out, err := s.run(ctx, "page", q.list, escaped(q.owner), flag(q.asc), from, size, q.cursor)
		if err != nil {
			return nil, 0, "", err
		}
		n, err := decimal(text(out[0]))
		if err != nil {
			return nil, 0, "", err
		}
		total, p = int(n), pager{room: size, more: text(out[1]) != ""}
		for _, row := range list(out[2]) {
			p.add(text(row))
		}
	} else {
		p = pager{cursor: q.cursor, asc: q.asc, skip: from, room: size}
		beyond := ""
		if q.uncounted && q.cursor != "" {
			beyond = escaped(q.owner) + q.cursor
		}
		for more := true; more; more = beyond != "" && !(q.uncounted && p.more) {
			args := append([]any{escaped(q.owner), flag(q.asc), beyond, q.chunk}, q.conditions...)
			out, err := s.run(ctx, q.list+"_scan", args...)
			if err != nil {
				return nil, 0, "", err
			}
			for _, row := range list(out[1]) {
				p.add(text(row))
				total++
			}
			beyond = text(out[0])
		}
	}
	if p.more {
		next = p.last
	}
	return p.ids, total, next, nil
}
