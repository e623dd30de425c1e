package control

import "fmt"

// CheckPage replaces a page number or page size of 0 by its default. It returns a *FieldError for
// a value that is not allowed. A status of "" selects all records.
func (m *Manager[R, P]) CheckPage(page, size *int, status Status) error {
	if *page == 0 {
		*page = 1
	}
	if *size == 0 {
		*size = 20
	}
	switch {
	case *page < 1:
		return m.refuse("page", fmt.Sprint(*page), "at least 1")
	case *size < 1 || *size > 100:
		return m.refuse("page_size", fmt.Sprint(*size), "1 to 100")
	case status != "" && status != Active && status != Paused:
		return m.refuse("status", string(status), `"active" or "paused"`)
	}
	return nil
}
