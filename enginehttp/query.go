package enginehttp

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// readQuery parses a query string. It refuses parameters that the route does not have, and
// repeated ones unless they are in rt.several. A malformed query string is an error, because
// ignoring a part of it could drop a filter.
func (rt *route) readQuery(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, &failure{status: http.StatusBadRequest, text: "malformed query string: want name=value pairs with & between them, and % written as %25"}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(rt.params, name) {
			allowed := "none"
			if len(rt.params) > 0 {
				allowed = "none but " + strings.Join(rt.params, ", ")
			}
			return nil, &failure{status: http.StatusUnprocessableEntity, text: "query parameter " + quote(name) + " is not allowed: want " + allowed}
		}
		if len(values[name]) > 1 && !slices.Contains(rt.several, name) {
			return nil, &failure{status: http.StatusBadRequest, text: "malformed query string: " + name + " is there twice"}
		}
	}
	return values, nil
}

// params reads the values of a query string or path. err describes the first value that is not
// allowed.
type params struct {
	values url.Values
	err    error
}

func (c *call) params() *params { return &params{values: c.query} }

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

// moment returns a time, or the zero time if the parameter is missing.
func (p *params) moment(name string) time.Time {
	if !p.values.Has(name) {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, p.values.Get(name))
	if err != nil || t.IsZero() {
		p.refuse(name, p.values.Get(name), allowedTime)
	}
	return t
}

// oneOf returns a parameter that must have one of the allowed values. The first one is the
// default, and the only one that may be "".
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

// id returns an id or username to filter by, or "" if the parameter is missing.
func (p *params) id(name string) string {
	if !p.values.Has(name) {
		return ""
	}
	return p.check(name, p.values.Get(name))
}

// account returns an account to filter by: a username, or the address of a feed. It returns ""
// if the parameter is missing.
func (p *params) account(name string) string {
	if !p.values.Has(name) {
		return ""
	}
	return p.accountName(name, p.values.Get(name))
}

// accountName returns v if it may be an account, without a leading @.
func (p *params) accountName(name, v string) string {
	if !strings.Contains(v, "://") {
		return p.check(name, strings.TrimPrefix(v, "@"))
	}
	if len(v) > maxAddress || strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' }) {
		p.refuse(name, v, fmt.Sprintf("a username, or an address of at most %d visible ASCII characters", maxAddress))
		return ""
	}
	return v
}

const (
	maxAddress = 512 // bytes of an account that is a URL
	maxID      = 253 // bytes: handles may carry a host name
	allowedID  = "1 to 253 visible ASCII characters without / and ,"
	maxIDs     = 100
	maxSearch  = 1024 // characters
	allowedIDs = "1 to 100 ids, separated by commas"
)

// check returns v if it may be an id or handle of some platform.
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

// ids returns a required list of 1 to 100 ids.
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

// search returns a required search text.
func (p *params) search(name string) string {
	v := p.values.Get(name)
	if n := utf8.RuneCountInString(v); n < 1 || n > maxSearch || !utf8.ValidString(v) || strings.TrimSpace(v) == "" || strings.ContainsFunc(v, unicode.IsControl) {
		p.refuse(name, v, "1 to 1,024 printable characters")
		return ""
	}
	return v
}
