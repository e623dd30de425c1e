package enginehttp

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPage bounds page, so that page × page_size is counted on any store.
const maxPage = 1_000_000_000

// params reads a query string or path. The first value that is not allowed
// stays in err. Parameters that nobody asks for are let through.
type params struct {
	values url.Values
	err    error
}

// params reads the query string. What is not well formed is refused: the
// parameters that could not be read would be taken for missing.
func (c *call) params() *params {
	values, err := url.ParseQuery(c.URL.RawQuery)
	if err != nil {
		return &params{err: &failure{status: http.StatusBadRequest, text: "malformed query string: want name=value pairs with & between them, and % written as %25"}}
	}
	return &params{values: values}
}

func (p *params) refuse(name, value, allowed string) {
	if p.err == nil {
		p.err = refused(name, value, allowed)
	}
}

func (p *params) integer(name string, def, from, to int) int {
	if !p.values.Has(name) {
		return def
	}
	n, err := strconv.Atoi(p.values.Get(name))
	if err != nil || n < from || n > to {
		p.refuse(name, p.values.Get(name), strconv.Itoa(from)+" to "+strconv.Itoa(to))
		return def
	}
	return n
}

// page is the page asked for and its size.
func (p *params) page() (page, size int) {
	return p.integer("page", 1, 1, maxPage), p.integer("page_size", 20, 1, 100)
}

// oneOf is one of the allowed values, the first when it is not there.
func (p *params) oneOf(name string, allowed ...string) string {
	if !p.values.Has(name) {
		return allowed[0]
	}
	v := p.values.Get(name)
	for _, a := range allowed {
		if v == a && a != "" {
			return v
		}
	}
	p.refuse(name, v, strings.TrimPrefix(strings.Join(allowed, ", "), ", "))
	return allowed[0]
}

// id is an optional id or username to filter by.
func (p *params) id(name string) string {
	if !p.values.Has(name) {
		return ""
	}
	return p.check(name, p.values.Get(name))
}

const (
	maxID      = 253 // bytes: handles may carry a host name
	allowedID  = "1 to 253 visible ASCII characters without / and ,"
	maxIDs     = 100
	maxSearch  = 1024 // characters
	allowedIDs = "1 to 100 ids, separated by commas"
)

// check lets ids and handles of any platform through.
func (p *params) check(name, v string) string {
	ok := v != "" && len(v) <= maxID
	for i := range len(v) {
		ok = ok && v[i] > ' ' && v[i] <= '~' && v[i] != '/' && v[i] != ','
	}
	if !ok {
		p.refuse(name, v, allowedID)
		return ""
	}
	return v
}

// ids is a list of 1 to 100.
func (p *params) ids(name string) []string {
	v := p.values.Get(name)
	if v == "" || strings.Count(v, ",") >= maxIDs {
		p.refuse(name, v, allowedIDs)
		return nil
	}
	list := strings.Split(v, ",")
	for i, id := range list {
		list[i] = p.check(name, strings.TrimSpace(id))
	}
	return list
}

// search is a text to search for.
func (p *params) search(name string) string {
	v := p.values.Get(name)
	if n := utf8.RuneCountInString(v); n < 1 || n > maxSearch || !utf8.ValidString(v) || strings.TrimSpace(v) == "" || strings.ContainsFunc(v, unicode.IsControl) {
		p.refuse(name, v, "1 to 1,024 printable characters")
		return ""
	}
	return v
}
