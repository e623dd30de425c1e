package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/record"
)

// onTwo returns a function of a case that has a second store on the same data if
// Kit.Features.Shared is promised, and else the same store twice.
func onTwo(run func(one, two *storeTest)) func(*storeTest) {
	return func(t *storeTest) {
		t.besides(func(two *storeTest) { run(t, two) })
	}
}

// together makes n calls at the same time.
func together(n int, call func(i int)) {
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wg.Go(func() { <-begin; call(i) })
	}
	close(begin)
	wg.Wait()
}

var recordKinds = []record.Kind{record.Monitor, record.Rule, record.Endpoint, record.APIKey}

func monitorKey(id string) record.Key  { return record.Key{Kind: record.Monitor, ID: id} }
func ruleKey(id string) record.Key     { return record.Key{Kind: record.Rule, ID: id} }
func endpointKey(id string) record.Key { return record.Key{Kind: record.Endpoint, ID: id} }

// newMonitor returns a monitor to create, which is named after its id.
func newMonitor(owner, id string) record.Record {
	return record.Record{Key: monitorKey(id), Owner: owner, Name: "name of " + id, Status: "active", Size: 1, Price: 10, Data: []byte(id)}
}

// newEndpoint returns an endpoint of a monitor to create.
func newEndpoint(owner, monitor, id string) record.Record {
	return record.Record{Key: endpointKey(id), Owner: owner, Parent: monitorKey(monitor), Name: "https://example.com/" + id, Status: "active"}
}

// endpoint returns an active endpoint of a source to create.
func (t *storeTest) endpoint(src deliver.Source, id string) record.Record {
	return record.Record{
		Key: endpointKey(id), Owner: src.Owner, Parent: record.Key{Kind: record.Kind(src.Kind), ID: src.ID}, Name: "https://example.com/" + id,
		Status: "active", CreatedAt: t.start, UpdatedAt: t.start, Data: []byte("data of the endpoint " + id),
	}
}

// edited returns a changed copy of a record.
func edited(r record.Record, edit func(*record.Record)) record.Record {
	edit(&r)
	return r
}

func refOf(owner string, k record.Key, version int64) record.Ref {
	return record.Ref{Key: k, Owner: owner, Version: version}
}

func (t *storeTest) apply(c record.Change) uint64 {
	t.Helper()
	n, err := t.store.Ports().Records.Apply(t.Context(), c)
	t.ok(err, "Apply")
	return n
}

func (t *storeTest) put(recs ...record.Record) uint64 {
	t.Helper()
	return t.apply(record.Change{Put: recs})
}

// remove deletes records of an owner.
func (t *storeTest) remove(owner string, keys ...record.Key) {
	t.Helper()
	var c record.Change
	for _, k := range keys {
		c.Delete = append(c.Delete, refOf(owner, k, 0))
	}
	t.apply(c)
}

// setStatus updates the status of a record.
func (t *storeTest) setStatus(owner string, k record.Key, status string) {
	t.Helper()
	t.put(edited(t.get(owner, k), func(r *record.Record) { r.Status = status }))
}

func (t *storeTest) get(owner string, k record.Key) record.Record {
	t.Helper()
	r, err := t.store.Ports().Records.Get(t.Context(), owner, k)
	t.ok(err, fmt.Sprintf("Get of %s %q", k.Kind, k.ID))
	return r
}

func (t *storeTest) absent(owner string, k record.Key, rule string) {
	t.Helper()
	_, err := t.store.Ports().Records.Get(t.Context(), owner, k)
	t.refused(err, record.ErrNotFound, "%s", rule)
}

// list returns the ids of a page and the total.
func (t *storeTest) list(q record.Query) string {
	t.Helper()
	list, total, err := t.store.Ports().Records.List(t.Context(), q)
	t.ok(err, "List")
	return fmt.Sprint(joined(list, func(r record.Record) string { return r.ID }), " of ", total)
}

func (t *storeTest) scan(k record.Kind) (list []record.Record) {
	t.Helper()
	t.ok(t.store.Ports().Records.Scan(t.Context(), k, func(r record.Record) error { list = append(list, r); return nil }), "Scan")
	return list
}

// last returns the number of the last entry in the feed.
func (t *storeTest) last() uint64 {
	t.Helper()
	_, last, err := t.store.Ports().Records.Since(t.Context(), 0, 0)
	if !errors.Is(err, record.ErrTooOld) {
		t.ok(err, "Since")
	}
	return last
}

// since returns the entries after a number. It fails the case if their numbers have a hole.
func (t *storeTest) since(after uint64) []record.Entry {
	t.Helper()
	list, last, err := t.store.Ports().Records.Since(t.Context(), after, 100_000)
	t.ok(err, "Since")
	for i, e := range list {
		if e.N != after+uint64(i)+1 {
			t.Fatalf("Since(%d) gave entry %d where %d has to follow: the feed has no holes and is in order", after, e.N, after+uint64(i)+1)
		}
	}
	expect(t, after+uint64(len(list)), last, "Since has to give all entries up to the last number")
	return list
}

// entriesOf returns entries as kind=owner/id, sorted, because the order within a change is not
// promised.
func entriesOf(list []record.Entry) string {
	var all []string
	for _, e := range list {
		all = append(all, fmt.Sprintf("%s=%s/%s", e.Kind, e.Owner, e.ID))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// shown returns all records of all owners and the last number of the feed.
func (t *storeTest) shown() string {
	t.Helper()
	var b strings.Builder
	for _, k := range recordKinds {
		for _, r := range t.scan(k) {
			fmt.Fprintf(&b, "%s %q of %q: v%d %q %q %q %v %d %d %q %q\n", r.Kind, r.ID, r.Owner, r.Version, r.Name, r.Lookup, r.Status, r.Parent, r.Size, r.Price, r.Data, r.Note)
		}
	}
	fmt.Fprintln(&b, "last number", t.last())
	return b.String()
}

// refuse fails the case unless Apply returns the error, about one of the keys if there are any,
// and changes nothing.
func (t *storeTest) refuse(c record.Change, want error, rule string, keys ...record.Key) {
	t.Helper()
	before := t.shown()
	n, err := t.store.Ports().Records.Apply(t.Context(), c)
	t.refused(err, want, "%s", rule)
	expect(t, n, 0, "Apply that fails returns no number of the feed")
	var of *record.Error
	if len(keys) > 0 && (!errors.As(err, &of) || !slices.Contains(keys, of.Key)) {
		t.Errorf("%s: the error has to be an *Error that names %v (it is %#v)", rule, keys, err)
	}
	expect(t, t.shown(), before, "Apply that fails with %v changes nothing", err)
}

// overLimit fails the case unless Apply returns a *LimitError with this sum, and changes nothing.
func (t *storeTest) overLimit(c record.Change, have int64, rule string) {
	t.Helper()
	before := t.shown()
	_, err := t.store.Ports().Records.Apply(t.Context(), c)
	var over *record.LimitError
	if !errors.As(err, &over) {
		t.Fatalf("%s (the error is %v, want a *LimitError)", rule, err)
	}
	expect(t, over.Have, have, "%s: Have is the sum after the change", rule)
	expect(t, t.shown(), before, "Apply that exceeds a limit changes nothing")
}

// oneOf makes 16 calls at the same time. One must succeed, and the others must return the error
// otherwise.
func oneOf(t *storeTest, otherwise error, what string, call func(i int) error) {
	t.Helper()
	errs := make([]error, 16)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = call(i) })
	}
	wg.Wait()
	succeeded := 0
	for _, err := range errs {
		if err == nil {
			succeeded++
			continue
		}
		t.refused(err, otherwise, "%s: the losers of a race get another error", what)
	}
	expect(t, succeeded, 1, "%s: of 16 concurrent calls exactly one may succeed", what)
}
