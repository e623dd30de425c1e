package search

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule"
)

// Index finds records. It reads the store when it is first used, and then the feed of changes each
// time. Its methods are safe for concurrent use; their errors are the store's and the context's.
type Index struct {
	records record.Store
	turn    chan struct{} // holds a value while the index is used
	begun   bool
	feed    uint64 // number of the last change that the index has
	byKey   map[record.Key]*Entry
	kinds   map[record.Kind][]*Entry       // in the order of creation
	owners  map[string]map[record.Kind]int // numbers of records
}

// Entry is what the index has of a record.
type Entry struct {
	record.Key
	Owner string
	Name  string // of an endpoint: its URL as URL returns it

	state   string
	created time.Time
	ends    time.Time // when a key expires; zero for never
	text    string    // in lower case: what a search finds the record by
}

// Kinds are the kinds of records in the index.
var Kinds = []record.Kind{record.Monitor, record.Rule, record.Endpoint, record.APIKey}

func newEntry(r *record.Record) *Entry {
	e := &Entry{Key: r.Key, Owner: r.Owner, Name: r.Name, state: r.Status, created: r.CreatedAt}
	words := []string{r.ID, r.Owner}
	switch r.Kind { // an error leaves out what could not be decoded
	case record.Monitor:
		m, _ := monitor.FromRecord(*r)
		words = append(words, m.Usernames()...)
	case record.Rule:
		q, _ := rule.FromRecord(*r)
		words = append(words, q.Query)
	case record.Endpoint:
		ep, _ := deliver.EndpointFromRecord(*r)
		e.Name = URL(ep.URL)
		words = append(words, ep.Source.Name)
		if e.state == string(deliver.EndpointActive) && !ep.PausedSince.IsZero() {
			e.state = "paused"
		}
	case record.APIKey:
		k, _ := apikey.FromRecord(*r)
		e.Name, e.state, e.ends = k.Name, "active", k.ExpiresAt
		words = append(words, k.Prefix)
		if !k.RevokedAt.IsZero() {
			e.state = "revoked"
		}
	}
	e.text = strings.ToLower(strings.Join(append(words, e.Name), "\n"))
	return e
}

// State returns the state at a time: the Status of a monitor or rule; active, paused or disabled of an
// endpoint; active, expired or revoked of a key.
func (e *Entry) State(now time.Time) string {
	if e.state == "active" && !e.ends.IsZero() && !now.Before(e.ends) {
		return "expired"
	}
	return e.state
}

// New returns an index of the records of a store.
func New(records record.Store) *Index {
	return &Index{records: records, turn: make(chan struct{}, 1)}
}

// use calls f while nobody else uses the index, which then has all changes made before.
func (x *Index) use(ctx context.Context, f func()) error {
	select {
	case x.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-x.turn }()
	if err := x.follow(ctx); err != nil {
		return err
	}
	f()
	return nil
}

// maxChanges is how many changes are read one by one. It takes less time to read all records than more.
const maxChanges = 5000

// follow reads the changes since the last call, or all records.
func (x *Index) follow(ctx context.Context) error {
	for x.begun {
		list, last, err := x.records.Since(ctx, x.feed, 1000)
		if errors.Is(err, record.ErrTooOld) || err == nil && last > x.feed+maxChanges {
			break
		}
		if err != nil {
			return err
		}
		for _, change := range list {
			if change.Kind == record.Owner {
				x.forget(change.ID)
			}
			r, err := x.records.Get(ctx, change.Owner, change.Key)
			switch {
			case err == nil:
				x.put(&r)
			case errors.Is(err, record.ErrNotFound):
				x.remove(change.Key)
			default:
				return err
			}
			x.feed = change.N
		}
		if len(list) == 0 || x.feed >= last {
			return nil
		}
	}
	x.begun = false
	_, last, err := x.records.Since(ctx, math.MaxInt64, 0)
	if err != nil && !errors.Is(err, record.ErrTooOld) {
		return err
	}
	x.byKey, x.kinds, x.owners = map[record.Key]*Entry{}, map[record.Kind][]*Entry{}, map[string]map[record.Kind]int{}
	for _, kind := range Kinds {
		if err := x.records.Scan(ctx, kind, func(r record.Record) error {
			x.put(&r)
			return ctx.Err()
		}); err != nil {
			return err
		}
	}
	x.begun, x.feed = true, last
	return nil
}

// older orders entries by their creation.
func older(a, b *Entry) int {
	return cmp.Or(a.created.Compare(b.created), strings.Compare(a.ID, b.ID))
}

func (x *Index) put(r *record.Record) {
	if !slices.Contains(Kinds, r.Kind) {
		return
	}
	e := newEntry(r)
	if was := x.byKey[r.Key]; was != nil {
		*was = *e
		return
	}
	x.byKey[e.Key] = e
	list := x.kinds[e.Kind]
	at, _ := slices.BinarySearchFunc(list, e, older)
	x.kinds[e.Kind] = slices.Insert(list, at, e)
	if x.owners[e.Owner] == nil {
		x.owners[e.Owner] = map[record.Kind]int{}
	}
	x.owners[e.Owner][e.Kind]++
}

func (x *Index) remove(k record.Key) {
	e := x.byKey[k]
	if e == nil {
		return
	}
	delete(x.byKey, k)
	if at, ok := slices.BinarySearchFunc(x.kinds[k.Kind], e, older); ok {
		x.kinds[k.Kind] = slices.Delete(x.kinds[k.Kind], at, at+1)
	}
	x.owners[e.Owner][k.Kind]--
	for _, n := range x.owners[e.Owner] {
		if n > 0 {
			return
		}
	}
	delete(x.owners, e.Owner)
}

// ErrCursor means that a cursor is not the Next of a page.
var ErrCursor = errors.New("search: cursor is not allowed: want the Next of a page")

// forget drops the records of an owner who is erased: they vanish without changes of their own.
func (x *Index) forget(ownerID string) {
	for name := range x.owners {
		if record.OwnerID(name) != ownerID {
			continue
		}
		of := func(e *Entry) bool { return e.Owner == name }
		maps.DeleteFunc(x.byKey, func(_ record.Key, e *Entry) bool { return of(e) })
		for kind, list := range x.kinds {
			x.kinds[kind] = slices.DeleteFunc(list, of)
		}
		delete(x.owners, name)
	}
}

// Query selects records of a kind.
type Query struct {
	Kind  record.Kind
	All   bool   // of all owners
	Owner string // without All
	Find  string // a text that the name, an account, the query or the id has; without regard to case
	State string // "" for all; see Entry.State
	Now   time.Time
	// Troubled records are in the state "failing" instead of "active", and are listed before others.
	Troubled map[record.Key]bool
	Cursor   string // the Next of the page before; "" for the first page
	Size     int
}

// Page has records, the newest first. Records that come and go do not move others to another page.
type Page struct {
	Entries []Entry
	Next    string         // "" on the last page
	Counts  map[string]int // records of all pages and states, by state
}

// List returns a page of records, or ErrCursor.
func (x *Index) List(ctx context.Context, q Query) (p Page, err error) {
	var after *Entry
	if q.Cursor != "" {
		at, id, ok := strings.Cut(q.Cursor, ".")
		n, err := strconv.ParseInt(at, 10, 64)
		if !ok || err != nil {
			return p, ErrCursor
		}
		after = &Entry{Key: record.Key{ID: id}, created: time.Unix(0, n)}
	}
	find := strings.ToLower(q.Find)
	p.Counts = map[string]int{}
	err = x.use(ctx, func() {
		var first []Entry
		for _, e := range slices.Backward(x.kinds[q.Kind]) {
			if !q.All && e.Owner != q.Owner || !strings.Contains(e.text, find) {
				continue
			}
			state, troubled := e.State(q.Now), q.Troubled[e.Key]
			if troubled && state == "active" {
				state = "failing"
			}
			p.Counts[state]++
			switch {
			case q.State != "" && state != q.State:
			case troubled:
				first = append(first, *e)
			case after != nil && older(e, after) >= 0:
			case len(p.Entries) < q.Size:
				p.Entries = append(p.Entries, *e)
			case p.Next == "":
				last := &p.Entries[q.Size-1]
				p.Next = strconv.FormatInt(last.created.UnixNano(), 10) + "." + last.ID
			}
		}
		if q.Cursor == "" {
			p.Entries = append(first[:min(len(first), q.Size)], p.Entries...)
		}
	})
	return p, err
}

// OwnerOf returns who has a record.
func (x *Index) OwnerOf(ctx context.Context, k record.Key) (owner string, ok bool, err error) {
	err = x.use(ctx, func() {
		if e := x.byKey[k]; e != nil {
			owner, ok = e.Owner, true
		}
	})
	return owner, ok, err
}

// Owner has the numbers of an owner's records.
type Owner struct {
	Name                             string
	Monitors, Rules, Endpoints, Keys int
}

func (x *Index) numbers(name string) Owner {
	n := x.owners[name]
	return Owner{name, n[record.Monitor], n[record.Rule], n[record.Endpoint], n[record.APIKey]}
}

// Owner returns the numbers of an owner's records.
func (x *Index) Owner(ctx context.Context, name string) (o Owner, err error) {
	err = x.use(ctx, func() { o = x.numbers(name) })
	return o, err
}

// Owners returns up to size owners, by name, whose names have a text, without regard to case, and are
// behind another name, and the number of all with the text.
func (x *Index) Owners(ctx context.Context, find, after string, size int) (list []Owner, total int, err error) {
	find = strings.ToLower(find)
	err = x.use(ctx, func() {
		for name := range x.owners {
			if !strings.Contains(strings.ToLower(name), find) {
				continue
			}
			total++
			if after == "" || name > after {
				list = append(list, x.numbers(name))
			}
		}
	})
	slices.SortFunc(list, func(a, b Owner) int { return strings.Compare(a.Name, b.Name) })
	return list[:min(len(list), size)], total, err
}

// URL returns a URL as it may be shown: without user, query and fragment, which may be credentials.
func URL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "***"
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	end := ""
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		end = " …"
	}
	return invalid.Cut(shown.String(), 200) + end
}
