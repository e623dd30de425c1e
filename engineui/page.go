package engineui

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/streamwatch/streamwatch/record"
)

// page is a row of the table of pages.
type page struct {
	path  string // one path element; "" is the first page
	title string
	file  string // file in pages with the template "content"

	group    string              // all pages link to it, under this heading; "" for pages that need a parameter
	operator bool                // it shows the whole engine, to operators only
	there    func(*Console) bool // reports whether the console has the page; nil if it always has
	// kind is that of the record whose id is the parameter named like the path. An operator need not
	// choose its owner.
	kind record.Kind
	// load returns the .Data of the template.
	load func(*Console, *view) (any, error)
	// actions carry out the page's forms, by their field action.
	actions map[string]action
}

//go:embed pages/*.html
var pageFiles embed.FS

// parsePages parses the template of each page together with the layout.
func parsePages() (map[string]*template.Template, error) {
	layout, err := template.New("layout.html").Funcs(funcs).ParseFS(pageFiles, "pages/layout.html", "pages/parts.html")
	if err != nil {
		return nil, err
	}
	parsed := map[string]*template.Template{}
	for _, p := range append(table(), loginPage, failurePage, secretPage) {
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

// page returns the page with this path, or nil if there is none that the viewer may see.
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

// view is a request for a page, and the value that the page's template gets.
type view struct {
	*http.Request
	c      *Console
	page   *page
	query  url.Values
	Viewer Viewer
	// Owner is the owner of the records shown: the viewer's own, or the one that an operator has
	// chosen. Pass it to every call of the engine.
	Owner string
	Said  *done // what came of the form that led here; nil for nothing
	Data  any

	known    *known // see problems; nil before
	to       string // load sets it to a link, to lead there
	answered bool   // the answer was sent, in spite of an error
}

// scope selects the records that a page or a live tail shows.
type scope struct {
	all   bool // the records of all owners
	owner string
}

func (s scope) has(owner string) bool { return s.all || s.owner == owner }

// scope returns all owners if an operator has chosen none, otherwise the view's owner.
func (v *view) scope() scope {
	return scope{all: v.Viewer.All && !v.Chosen(), owner: v.Owner}
}

// Title returns the page's title.
func (v *view) Title() string { return v.page.title }

// Path returns the page's path.
func (v *view) Path() string { return v.page.path }

// Chosen reports whether an operator has chosen an owner.
func (v *view) Chosen() bool { return v.Viewer.All && v.query.Get("owner") != "" }

// CanWrite reports whether the page may have forms.
func (v *view) CanWrite() bool { return v.Viewer.Write }

// Fleet reports whether other nodes share the work.
func (v *view) Fleet() bool { return v.c.engine.Nodes() > 1 }

// LoggedIn reports whether the viewer can log out.
func (v *view) LoggedIn() bool {
	return v.c.login != nil && v.page != loginPage && v.page != failurePage
}

// navGroup is a heading with the links below it.
type navGroup struct {
	Name  string
	Pages []*page
}

// Nav lists the pages that every page links to, by their groups.
func (v *view) Nav() (list []navGroup) {
	if v.page == loginPage || v.page == failurePage {
		return nil
	}
	for _, p := range table() {
		if p.group == "" || !v.c.shows(p, v.Viewer) {
			continue
		}
		if n := len(list); n == 0 || list[n-1].Name != p.group {
			list = append(list, navGroup{Name: p.group})
		}
		list[len(list)-1].Pages = append(list[len(list)-1].Pages, p)
	}
	return list
}

// Title returns the text of links to the page.
func (p *page) Title() string { return p.title }

// Path returns the page's path.
func (p *page) Path() string { return p.path }

// Link returns a link to another page of the console. pairs are names and values of parameters;
// those with an empty value are omitted. The link keeps the owner that an operator has chosen.
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

// Same returns a link to the page itself, with other values of some parameters.
func (v *view) Same(pairs ...string) string {
	for _, name := range []string{v.Path(), "find", "state", "cursor"} {
		if i := slices.Index(pairs, name); i < 0 || i%2 != 0 {
			pairs = append(pairs, name, v.query.Get(name))
		}
	}
	return v.Link(v.Path(), pairs...)
}

// Shown returns the id of what the page is about, "" for a list.
func (v *view) Shown() string {
	if v.page.actions == nil || v.page.group != "" {
		return ""
	}
	return v.query.Get(v.Path())
}

// OwnerLink is Link for a page of all owners: the link also chooses the owner.
func (v *view) OwnerLink(owner, path string, pairs ...string) string {
	if !v.Viewer.All {
		return v.Link(path, pairs...)
	}
	of := *v
	of.Owner, of.query = owner, url.Values{"owner": {owner}}
	return of.Link(path, pairs...)
}

// Has reports whether the viewer may see a page. Templates link only to such pages.
func (v *view) Has(path string) bool { return v.c.page(path, v.Viewer) != nil }

// render sends a page, or returns an error without sending anything.
func (c *Console) render(w http.ResponseWriter, v *view, status int) error {
	var b bytes.Buffer
	if err := c.templates[v.page.path].ExecuteTemplate(&b, "layout.html", v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // an error means that the client has left
	return nil
}

// failure is an error with the status and the sentence shown to the viewer.
type failure struct {
	Status int
	Text   string
}

func (f *failure) Error() string { return "engineui: " + f.Text }

var errNotFound = &failure{http.StatusNotFound, "There is no such page, or nothing of that name."}

// failurePage shows a failure.
var failurePage = &page{path: "\x00failure", title: "Not shown", file: "failure.html"}

// fail answers with an error. An error that is no failure is logged and not shown, because it
// may name hosts and files.
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
