package engineui

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule"
)

// index has the records of all owners in memory, for lists and searches. It reads the store when it
// is first used, and then the feed of changes each time.
type index struct {
	records record.Store
	turn    chan struct{} // holds a value while the index is used
	begun   bool
	feed    uint64 // number of the last change that the index has
	byKey   map[record.Key]*entry
	kinds   map[record.Kind][]*entry       // in the order of creation
	owners  map[string]map[record.Kind]int // numbers of records
}

// entry is what the index has of a record.
type entry struct {
	record.Key
	parent  record.Key
	owner   string
	name    string // of an endpoint: its shown URL
	state   string
	created time.Time
	ends    time.Time // when a key expires; zero for never
	text    string    // in lower case: what a search finds the record by
}

// indexed are the kinds of records in the index.
var indexed = []record.Kind{record.Monitor, record.Rule, record.Endpoint, record.APIKey}

func newEntry(r *record.Record) *entry {
	e := &entry{Key: r.Key, parent: r.Parent, owner: r.Owner, name: r.Name, state: r.Status, created: r.CreatedAt}
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
		e.name = shownURL(ep.URL)
		words = append(words, ep.Source.Name)
		if e.state == string(deliver.EndpointActive) && !ep.PausedSince.IsZero() {
			e.state = "paused"
		}
	case record.APIKey:
		k, _ := apikey.FromRecord(*r)
		e.name, e.state, e.ends = k.Name, "active", k.ExpiresAt
		words = append(words, k.Prefix)
		if !k.RevokedAt.IsZero() {
			e.state = "revoked"
		}
	}
	e.text = strings.ToLower(strings.Join(append(words, e.name), "\n"))
	return e
}

// at returns the state at a time.
func (e *entry) at(now time.Time) string {
	if e.state == "active" && !e.ends.IsZero() && !now.Before(e.ends) {
		return "expired"
	}
	return e.state
}

func newIndex(records record.Store) *index {
	return &index{records: records, turn: make(chan struct{}, 1)}
}

// use calls f while nobody else uses the index, which then has all changes made before.
func (x *index) use(ctx context.Context, f func()) error {
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

// follow reads the changes since the last call, or all records.
func (x *index) follow(ctx context.Context) error {
	for x.begun {
		list, last, err := x.records.Since(ctx, x.feed, 1000)
		if errors.Is(err, record.ErrTooOld) {
			break
		}
		if err != nil {
			return err
		}
		for _, change := range list {
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
	x.byKey, x.kinds, x.owners = map[record.Key]*entry{}, map[record.Kind][]*entry{}, map[string]map[record.Kind]int{}
	for _, kind := range indexed {
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
func older(a, b *entry) int {
	return cmp.Or(a.created.Compare(b.created), strings.Compare(a.ID, b.ID))
}

func (x *index) put(r *record.Record) {
	if !slices.Contains(indexed, r.Kind) {
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
	if x.owners[e.owner] == nil {
		x.owners[e.owner] = map[record.Kind]int{}
	}
	x.owners[e.owner][e.Kind]++
}

func (x *index) remove(k record.Key) {
	e := x.byKey[k]
	if e == nil {
		return
	}
	delete(x.byKey, k)
	if at, ok := slices.BinarySearchFunc(x.kinds[k.Kind], e, older); ok {
		x.kinds[k.Kind] = slices.Delete(x.kinds[k.Kind], at, at+1)
	}
	x.owners[e.owner][k.Kind]--
	for _, n := range x.owners[e.owner] {
		if n > 0 {
			return
		}
	}
	delete(x.owners, e.owner)
}

// wanted selects entries.
type wanted struct {
	scope
	kind  record.Kind
	find  string // in lower case
	state string // "" for all
	now   time.Time
	// troubled entries are in the state "failing", and come before others.
	troubled map[record.Key]bool
	cursor   string // found.next of the page before; "" for the first page
	size     int
}

// found is a page of entries, the newest first.
type found struct {
	entries []entry
	next    string         // "" on the last page
	counts  map[string]int // of all pages, by state
}

// list returns a page of entries.
func (x *index) list(ctx context.Context, w wanted) (f found, err error) {
	var after *entry
	if w.cursor != "" {
		at, id, ok := strings.Cut(w.cursor, ".")
		n, err := strconv.ParseInt(at, 10, 64)
		if !ok || err != nil {
			return f, errCursor
		}
		after = &entry{Key: record.Key{ID: id}, created: time.Unix(0, n)}
	}
	f.counts = map[string]int{}
	err = x.use(ctx, func() {
		var first []entry
		for _, e := range slices.Backward(x.kinds[w.kind]) {
			if !w.has(e.owner) || !strings.Contains(e.text, w.find) {
				continue
			}
			state, troubled := e.at(w.now), w.troubled[e.Key]
			if troubled && state == "active" {
				state = "failing"
			}
			f.counts[state]++
			switch {
			case w.state != "" && state != w.state:
			case troubled:
				first = append(first, *e)
			case after != nil && older(e, after) >= 0:
			case len(f.entries) < w.size:
				f.entries = append(f.entries, *e)
			case f.next == "":
				last := &f.entries[w.size-1]
				f.next = strconv.FormatInt(last.created.UnixNano(), 10) + "." + last.ID
			}
		}
		if w.cursor == "" {
			f.entries = append(first[:min(len(first), w.size)], f.entries...)
		}
	})
	return f, err
}

// owner returns who has a record.
func (x *index) owner(ctx context.Context, k record.Key) (owner string, ok bool, err error) {
	err = x.use(ctx, func() {
		if e := x.byKey[k]; e != nil {
			owner, ok = e.owner, true
		}
	})
	return owner, ok, err
}

// owned is an owner with the numbers of their records.
type owned struct {
	Owner                            string
	Monitors, Rules, Endpoints, Keys int
}

// numbers returns an owner with the numbers of their records. The caller uses the index.
func (x *index) numbers(owner string) owned {
	n := x.owners[owner]
	return owned{owner, n[record.Monitor], n[record.Rule], n[record.Endpoint], n[record.APIKey]}
}

// ownersBy returns up to size owners whose names have a text and are behind another name, by name,
// and the number of all with the text.
func (x *index) ownersBy(ctx context.Context, find, after string, size int) (list []owned, total int, err error) {
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
	slices.SortFunc(list, func(a, b owned) int { return strings.Compare(a.Owner, b.Owner) })
	return list[:min(len(list), size)], total, err
}
