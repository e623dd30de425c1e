package engineui

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
)

// page is a row of the table of pages.
type page struct {
	path  string // one element; "" is the first page
	title string
	file  string // of its template "content", in pages

	nav      bool                // all pages have a link to it
	operator bool                // it is of the whole engine, and for operators only
	owned    bool                // it is of one owner's records, and an operator chooses the owner
	there    func(*Console) bool // whether the console has the page at all; nil if it always has
	// load returns what the template gets as .Data.
	load func(*Console, *view) (any, error)
	// change carries out a form, for viewers who may write, and returns the link to the
	// page that follows, such as v.Link("accounts"). Nil: there is nothing to change.
	change func(*Console, *view) (to string, err error)
}

//go:embed pages/*.html
var pageFiles embed.FS

// parsePages reads the templates, each with the layout.
func parsePages() (map[string]*template.Template, error) {
	layout, err := template.New("layout.html").Funcs(funcs).ParseFS(pageFiles, "pages/layout.html", "pages/parts.html")
	if err != nil {
		return nil, err
	}
	parsed := map[string]*template.Template{}
	for _, p := range append(table(), loginPage, failurePage) {
		t, err := layout.Clone()
		if err != nil {
			return nil, err
		}
		if parsed[p.path], err = t.ParseFS(pageFiles, "pages/"+p.file); err != nil {
			return nil, err
		}
	}
	return parsed, nil
}

// page finds the page that a viewer may see, nil if there is none.
func (c *Console) page(path string, who Viewer) *page {
	for _, p := range table() {
		if p.path == path && c.shows(p, who) {
			return p
		}
	}
	return nil
}

func (c *Console) shows(p *page, who Viewer) bool {
	return (who.All || !p.operator) && (p.there == nil || p.there(c))
}

// view is a request as a page gets it, and what its template shows.
type view struct {
	*http.Request
	c      *Console
	page   *page
	query  url.Values
	Viewer Viewer
	// Owner is whose records are shown: the viewer's own, or those of whom an operator
	// has chosen. Every call to the engine has to have it.
	Owner string
	Data  any
}

// scope says whose records a page, or a live tail, shows.
type scope struct {
	all   bool // those of all owners
	owner string
}

func (s scope) has(owner string) bool { return s.all || s.owner == owner }

// scope returns all owners for an operator who has chosen none, else the view's owner.
func (v *view) scope() scope {
	return scope{all: v.Viewer.All && !v.Chosen(), owner: v.Owner}
}

// Title is that of the page.
func (v *view) Title() string { return v.page.title }

// Path is that of the page.
func (v *view) Path() string { return v.page.path }

// Owned reports whether the page shows the records of one owner.
func (v *view) Owned() bool { return v.page.owned }

// Chosen reports whether an operator has chosen an owner.
func (v *view) Chosen() bool { return v.Viewer.All && v.query.Has("owner") }

// CanWrite reports whether the page may have forms.
func (v *view) CanWrite() bool { return v.Viewer.Write }

// Fleet reports whether other nodes do a part of the work.
func (v *view) Fleet() bool { return v.c.engine.Nodes() > 1 }

// LoggedIn reports whether the viewer can log out.
func (v *view) LoggedIn() bool {
	return v.c.login != nil && v.page != loginPage && v.page != failurePage
}

// Nav lists the pages that have a link on all.
func (v *view) Nav() (list []*page) {
	if v.page == loginPage || v.page == failurePage {
		return nil
	}
	for _, p := range table() {
		if p.nav && v.c.shows(p, v.Viewer) {
			list = append(list, p)
		}
	}
	return list
}

// Title is how links name a page.
func (p *page) Title() string { return p.title }

// Path is where it is.
func (p *page) Path() string { return p.path }

// Link returns a link to another page of the console, with parameters as pairs of name
// and value; those with an empty value are left out. An operator stays at the owner that
// they have chosen.
func (v *view) Link(path string, pairs ...string) string {
	q := url.Values{}
	if v.Chosen() {
		q.Set("owner", v.Owner)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if path == "" {
		path = "./"
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// Has reports whether the viewer can see a page: templates link to no others.
func (v *view) Has(path string) bool { return v.c.page(path, v.Viewer) != nil }

// number reads a parameter between least and most; def if it is missing.
func (v *view) number(name string, def, least, most int) (int, error) {
	text := v.query.Get(name)
	if text == "" {
		return def, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, &failure{http.StatusBadRequest, "The parameter " + name + " is not allowed: want " + strconv.Itoa(least) + " to " + strconv.Itoa(most) + "."}
	}
	return n, nil
}

// render sends a page, or returns an error without sending anything.
func (c *Console) render(w http.ResponseWriter, v *view, status int) error {
	var b bytes.Buffer
	if err := c.templates[v.page.path].ExecuteTemplate(&b, "layout.html", v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // who has left needs no answer
	return nil
}

// failure is an error with the status and the sentence that the viewer gets.
type failure struct {
	Status int
	Text   string
}

func (f *failure) Error() string { return "engineui: " + f.Text }

var errNotFound = &failure{http.StatusNotFound, "There is no such page, or nothing of that name."}

// failurePage shows a failure.
var failurePage = &page{path: "\x00failure", title: "Not shown", file: "failure.html"}

// fail answers with an error. What is not a failure is logged and not shown: it may name
// hosts and files.
func (c *Console) fail(w http.ResponseWriter, v *view, err error) {
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{http.StatusServiceUnavailable, "The page cannot be made now. Try again in a moment."}
		if !errors.Is(err, context.Canceled) {
			c.cfg.Logger.Error("a page of the console could not be made", "path", v.URL.Path, "error", err)
		}
	}
	v.page, v.Data = failurePage, f
	if err := c.render(w, v, f.Status); err != nil {
		http.Error(w, f.Text, f.Status)
	}
}
