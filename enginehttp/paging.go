package enginehttp

import "slices"

const (
	defaultPageSize = 20
	maxPageSize     = 100
	// maxPage is the maximum of page and offset. It keeps page × page_size from overflowing in
	// any store.
	maxPage = 1_000_000_000
)

// pageParams are the parameters that select a part of a list: page and page_size, or offset and
// limit. limit means the same as page_size.
var pageParams = []string{"page", "page_size", "limit", "offset"}

// paging is the requested part of a list, as shown in the answer. Page is the page that contains
// Offset.
type paging struct {
	Page     int   `json:"page"`
	PageSize int   `json:"page_size"`
	Limit    int   `json:"limit"`
	Offset   int64 `json:"offset"`
}

func (p *params) paging() paging {
	size := "page_size"
	if p.values.Has("limit") {
		if p.values.Has(size) {
			p.refuse("limit", p.values.Get("limit"), "either limit or page_size, not both")
		}
		size = "limit"
	}
	n := p.integer(size, defaultPageSize, 1, maxPageSize)
	if p.values.Has("offset") {
		if p.values.Has("page") {
			p.refuse("offset", p.values.Get("offset"), "either offset or page, not both")
		}
		offset := p.integer("offset", 0, 0, maxPage)
		return paging{Page: offset/n + 1, PageSize: n, Limit: n, Offset: int64(offset)}
	}
	page := p.integer("page", 1, 1, maxPage)
	return paging{Page: page, PageSize: n, Limit: n, Offset: int64(page-1) * int64(n)}
}

// cutPage returns the part of list that pg selects.
func cutPage[T any](list []T, pg paging) []T {
	first := min(pg.Offset, int64(len(list)))
	return list[first:min(first+int64(pg.Limit), int64(len(list)))]
}

// readList returns the part of a list that pg selects, and the number of all items. It calls
// read for one page, or for two if the offset is not a multiple of the page size.
func readList[T any](pg paging, read func(page, size int) (items []T, total int, err error)) ([]T, int, error) {
	items, total, err := read(pg.Page, pg.PageSize)
	skip := int(pg.Offset % int64(pg.PageSize))
	if err != nil || skip == 0 {
		return items, total, err
	}
	full := len(items) == pg.PageSize
	items = slices.Clip(items[min(skip, len(items)):])
	if !full {
		return items, total, nil
	}
	next, total, err := read(pg.Page+1, pg.PageSize)
	return append(items, next[:min(skip, len(next))]...), total, err
}
