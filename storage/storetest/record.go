package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/streamwatch/streamwatch/record"
)

// recordStore is a store with the ports for records and values.
type recordStore interface {
	Records() record.Store
	State() record.State
}

// TestRecords checks that a store keeps the contracts of record.Store and record.State, in
// named subtests in groups. The opened stores must have methods Records and State.
func TestRecords(t *testing.T, kit Kit) {
	t.Helper()
	if err := kit.validate(); err != nil {
		t.Fatal(err)
	}
	for _, role := range []storeRole{
		{"records", slices.Concat(recordValueCases(), recordRefusalCases(), recordChangeCases(), recordListCases())},
		{"model", []storeCase{{name: "random changes do what a simple model does, also after a restart", run: mixes(func(t *storeTest, rnd *rand.Rand) { recordModelMix(newRecordsTest(t), rnd) })}}},
		{"limits", recordLimitCases()},
		{"feed", recordFeedCases()},
		{"deliveries", recordDeliveryCases()},
		{"gone", goneCases()},
		{"state", append(stateCases(), stateBoundCases()...)},
		{"whole", recordWholeCases()},
	} {
		t.Run(role.name, func(t *testing.T) {
			for _, c := range role.cases {
				t.Run(c.name, func(t *testing.T) { runStoreCase(t, kit, c) })
			}
		})
	}
}

// recordsTest is a running case about records and values.
type recordsTest struct {
	*storeTest
	records record.Store
	state   record.State
}

func onRecords(name string, needs needs, run func(*recordsTest)) storeCase {
	return storeCase{name: name, needs: needs, run: func(t *storeTest) { run(newRecordsTest(t)) }}
}

func newRecordsTest(t *storeTest) *recordsTest {
	t.Helper()
	s, ok := t.store.(recordStore)
	if !ok {
		t.Fatalf("a %T has no methods Records and State", t.store)
	}
	return &recordsTest{t, s.Records(), s.State()}
}

func (t *recordsTest) reopen() {
	t.Helper()
	t.storeTest.reopen()
	*t = *newRecordsTest(t.storeTest)
}

// twiceRecords returns a function of a case that has a second store on the same data if
// Kit.Features.Shared is promised, and else the same store twice.
func twiceRecords(run func(one, two *recordsTest)) func(*recordsTest) {
	return func(t *recordsTest) {
		t.besides(func(two *storeTest) { run(t, newRecordsTest(two)) })
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
func endpointKey(id string) record.Key { return record.Key{Kind: record.Endpoint, ID: id} }

// newMonitor returns a monitor to create, which is named after its id.
func newMonitor(owner, id string) record.Record {
	return record.Record{Key: monitorKey(id), Owner: owner, Name: "name of " + id, Status: "active", Size: 1, Price: 10, Data: []byte(id)}
}

// newEndpoint returns an endpoint of a monitor to create.
func newEndpoint(owner, monitor, id string) record.Record {
	return record.Record{Key: endpointKey(id), Owner: owner, Parent: monitorKey(monitor), Name: "https://example.com/" + id, Status: "active"}
}

// edited returns a changed copy of a record.
func edited(r record.Record, edit func(*record.Record)) record.Record {
	edit(&r)
	return r
}

func refOf(owner string, k record.Key, version int64) record.Ref {
	return record.Ref{Key: k, Owner: owner, Version: version}
}

func (t *recordsTest) apply(c record.Change) uint64 {
	t.Helper()
	n, err := t.records.Apply(t.Context(), c)
	t.ok(err, "Apply")
	return n
}

func (t *recordsTest) put(recs ...record.Record) uint64 {
	t.Helper()
	return t.apply(record.Change{Put: recs})
}

func (t *recordsTest) get(owner string, k record.Key) record.Record {
	t.Helper()
	r, err := t.records.Get(t.Context(), owner, k)
	t.ok(err, fmt.Sprintf("Get of %s %q", k.Kind, k.ID))
	return r
}

func (t *recordsTest) absent(owner string, k record.Key, rule string) {
	t.Helper()
	_, err := t.records.Get(t.Context(), owner, k)
	t.refused(err, record.ErrNotFound, "%s", rule)
}

// list returns the ids of a page and the total.
func (t *recordsTest) list(q record.Query) string {
	t.Helper()
	list, total, err := t.records.List(t.Context(), q)
	t.ok(err, "List")
	return fmt.Sprint(joined(list, func(r record.Record) string { return r.ID }), " of ", total)
}

func (t *recordsTest) scan(k record.Kind) (list []record.Record) {
	t.Helper()
	t.ok(t.records.Scan(t.Context(), k, func(r record.Record) error { list = append(list, r); return nil }), "Scan")
	return list
}

// last returns the number of the last entry in the feed.
func (t *recordsTest) last() uint64 {
	t.Helper()
	_, last, err := t.records.Since(t.Context(), 0, 0)
	if !errors.Is(err, record.ErrTooOld) {
		t.ok(err, "Since")
	}
	return last
}

// since returns the entries after a number. It fails the case if their numbers have a hole.
func (t *recordsTest) since(after uint64) []record.Entry {
	t.Helper()
	list, last, err := t.records.Since(t.Context(), after, 100_000)
	t.ok(err, "Since")
	for i, e := range list {
		if e.N != after+uint64(i)+1 {
			t.Fatalf("Since(%d) gave entry %d where %d has to follow: the feed has no holes and is in order", after, e.N, after+uint64(i)+1)
		}
	}
	expect(t.storeTest, after+uint64(len(list)), last, "Since has to give all entries up to the last number")
	return list
}

// entriesOf returns entries as kind=owner/id, sorted, because the order within a change is not
// promised.
func entriesOf(list []record.Entry) string {
	var all []string
	for _, e := range list {
		if e.Kind == record.Owner {
			e.ID = "" // not promised
		}
		all = append(all, fmt.Sprintf("%s=%s/%s", e.Kind, e.Owner, e.ID))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// shown returns all records of all owners and the last number of the feed.
func (t *recordsTest) shown() string {
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
func (t *recordsTest) refuse(c record.Change, want error, rule string, keys ...record.Key) {
	t.Helper()
	before := t.shown()
	n, err := t.records.Apply(t.Context(), c)
	t.refused(err, want, "%s", rule)
	expect(t.storeTest, n, 0, "Apply that fails returns no number of the feed")
	var of *record.Error
	if len(keys) > 0 && (!errors.As(err, &of) || !slices.Contains(keys, of.Key)) {
		t.Errorf("%s: the error has to be an *Error that names %v (it is %#v)", rule, keys, err)
	}
	expect(t.storeTest, t.shown(), before, "Apply that fails with %v changes nothing", err)
}

// overLimit fails the case unless Apply returns a *LimitError with this sum, and changes nothing.
func (t *recordsTest) overLimit(c record.Change, have int64, rule string) {
	t.Helper()
	before := t.shown()
	_, err := t.records.Apply(t.Context(), c)
	var over *record.LimitError
	if !errors.As(err, &over) {
		t.Fatalf("%s (the error is %v, want a *LimitError)", rule, err)
	}
	expect(t.storeTest, over.Have, have, "%s: Have is the sum after the change", rule)
	expect(t.storeTest, t.shown(), before, "Apply that exceeds a limit changes nothing")
}
