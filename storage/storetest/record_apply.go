package storetest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

// recordTexts are texts that stores are prone to change, cut or take for each other.
var recordTexts = []string{"żółw 🚀", "a\x00b\r\n", "a\x00", "a", "a:b", `'; DROP TABLE records; --`, " \t ", "%", "{tag} %s", strings.Repeat("é", 512)}

// recordValueCases are about the fields of records.
func recordValueCases() []storeCase {
	everyByte := make([]byte, 1<<20)
	for i := range everyByte {
		everyByte[i] = byte(i ^ i>>8)
	}
	return []storeCase{
		{name: "a record comes back with every field, and Version 1", run: func(t *storeTest) {
			for i, data := range [][]byte{nil, {0}, []byte("\xff\xfe{}"), everyByte} {
				owner := fmt.Sprint("owner ", i) // so that no sum exceeds 64 bits
				want := newEndpoint(owner, "m", fmt.Sprint(i))
				want.Lookup, want.Size, want.Price, want.Data = fmt.Sprint("lookup ", i), 1<<53+1, 1<<62+1, data
				want.CreatedAt, want.UpdatedAt = t.start.Add(time.Microsecond), time.Date(2200, 1, 2, 3, 4, 5, 6000, time.UTC)
				if i == 1 {
					want.CreatedAt, want.UpdatedAt = time.Date(1901, 1, 2, 3, 4, 5, 6000, time.UTC), time.Time{}
				}
				given := edited(want, func(r *record.Record) { r.Note = "set by Notes alone" })
				t.put(given)
				want.Version = 1
				t.same(t.get(owner, want.Key), want, "Get has to return what Put was given, with Version 1")
				found, err := t.store.Ports().Records.Find(t.Context(), record.Endpoint, want.Lookup)
				t.ok(err, "Find")
				t.same(found, want, "Find has to return what Put was given")
				expect(t, t.get(owner, want.Key).UpdatedAt.IsZero(), want.UpdatedAt.IsZero(), "the zero time stays the zero time")
			}
		}},
		{name: "texts are kept and compared byte by byte", run: func(t *storeTest) {
			for _, text := range recordTexts {
				parent := newMonitor("of "+text, "m "+text)
				want := record.Record{Key: endpointKey(text), Owner: "of " + text, Parent: parent.Key, Name: text, Lookup: text, Status: text, Data: []byte(text)}
				after := t.last()
				t.put(parent, want)
				t.apply(record.Change{Notes: []record.Note{{Ref: want.Ref(), Text: text}}})
				want.Version, want.Note = 1, text
				t.same(t.get(want.Owner, want.Key), want, "a record with the text %.20q in its fields has to come back", text)
				expect(t, entriesOf(t.since(after)), fmt.Sprintf("endpoint=of %s/%s monitor=of %s/m %s", text, text, text, text), "texts survive in the feed")
				q := record.Query{Owner: want.Owner, Kind: record.Endpoint, Parent: parent.Key, Status: text, Limit: 9}
				expect(t, t.list(q), text+" of 1", "List has to find the text %.20q and no other", text)
			}
		}},
		{name: "texts of two fields do not run into each other", run: func(t *storeTest) {
			for i, sep := range []string{":", "\x00", " ", "|", "\x01"} {
				owner := fmt.Sprint("owner ", i)
				one := edited(newEndpoint(owner+sep+"b", "c", fmt.Sprint("x", i)), func(r *record.Record) { r.Name, r.Lookup = "d", owner+sep+"c" })
				two := edited(newEndpoint(owner, "b"+sep+"c", fmt.Sprint("y", i)), func(r *record.Record) { r.Name, r.Lookup = "d", owner })
				three := edited(newEndpoint(owner, "b", fmt.Sprint("z", i)), func(r *record.Record) { r.Name, r.Lookup = "c"+sep+"d", owner+sep })
				t.put(one, two, three)
				for _, r := range []record.Record{one, two, three} {
					q := record.Query{Owner: r.Owner, Kind: r.Kind, Parent: r.Parent, Limit: 9}
					expect(t, t.list(q), r.ID+" of 1", "owners and parents that are alike stay distinct with %q in them", sep)
				}
			}
		}},
		{name: "no memory is shared with callers", run: func(t *storeTest) {
			given := newMonitor("acme", "m")
			t.put(given)
			given.Data[0] = 'X'
			got := t.get("acme", given.Key)
			got.Data[0] = 'Y'
			list, _, err := t.store.Ports().Records.List(t.Context(), record.Query{Owner: "acme", Kind: record.Monitor, Limit: 1})
			t.ok(err, "List")
			list[0].Data[0] = 'Z'
			t.scan(record.Monitor)[0].Data[0] = 'Z'
			expect(t, string(t.get("acme", given.Key).Data), "m", "the store shares no memory with records passed in or out")
		}},
		{name: "a call whose context has ended changes nothing", run: func(t *storeTest) {
			t.put(newMonitor("acme", "m"))
			before := t.shown()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := t.store.Ports().Records.Apply(ctx, record.Change{Put: []record.Record{newMonitor("acme", "m2")}})
			t.refused(err, context.Canceled, "Apply with an ended context has to fail")
			_, err = t.store.Ports().State.Swap(ctx, record.Name{Space: "s"}, 0, []byte("x"), 0)
			t.refused(err, context.Canceled, "Swap with an ended context has to fail")
			expect(t, t.shown(), before, "a call whose context has ended changes nothing")
			_, err = t.store.Ports().State.Get(t.Context(), record.Name{Space: "s"})
			t.refused(err, record.ErrNotFound, "Swap with an ended context stored a value")
		}},
		{name: "a Change has at most 100 records, each with a kind and an id, and puts none twice", run: func(t *storeTest) {
			t.put(newMonitor("acme", "m"))
			var full record.Change
			for i := range record.MaxChange - 1 {
				full.Put = append(full.Put, newMonitor("globex", fmt.Sprint(i)))
			}
			full.Delete = []record.Ref{refOf("acme", monitorKey("m"), 0)}
			over := full
			over.Notes = []record.Note{{Ref: refOf("globex", monitorKey("1"), 0)}}
			t.refuse(over, record.ErrInvalid, "Apply has to refuse 101 records put, deleted and noted")
			t.apply(full)
			expect(t, t.list(record.Query{Owner: "globex", Kind: record.Monitor}), " of 99", "a Change of 100 records is allowed")
			for _, k := range []record.Key{{}, {Kind: record.Monitor}, {ID: "x"}} {
				t.refuse(record.Change{Put: []record.Record{{Key: k}}}, record.ErrInvalid, "Put without a kind or an id is not valid")
				t.refuse(record.Change{Delete: []record.Ref{{Key: k}}}, record.ErrInvalid, "Delete without a kind or an id is not valid")
			}
			twice := newMonitor("acme", "twice")
			t.refuse(record.Change{Put: []record.Record{twice, twice}}, record.ErrInvalid, "Put of one record twice is not valid")
		}},
	}
}

// furnish creates monitors 1 and 2 of acme with an endpoint each, the same URL in both, and a
// monitor of globex with the name of monitor 1. Monitor 1 and its endpoint have Version 2.
func (t *storeTest) furnishRecords() {
	t.Helper()
	m1, e1, e2, key := newMonitor("acme", "m1"), newEndpoint("acme", "m1", "e1"), newEndpoint("acme", "m2", "e2"), record.Record{Key: record.Key{Kind: record.APIKey, ID: "k1"}, Owner: "acme", Lookup: "abc"}
	e2.Name = e1.Name
	t.put(m1, newMonitor("acme", "m2"), e1, e2, key)
	t.put(edited(newMonitor("globex", "m3"), func(r *record.Record) { r.Name = m1.Name }), newEndpoint("globex", "m3", "e3"))
	m1.Version, e1.Version = 1, 1
	t.put(m1, e1)
}

// recordRefusalCases are about changes that cannot be made. Each is applied to what furnish makes.
func recordRefusalCases() (cases []storeCase) {
	m1, m3, e1, fresh := newMonitor("acme", "m1"), newMonitor("globex", "m3"), newEndpoint("acme", "m1", "e1"), newMonitor("acme", "m9")
	put := func(recs ...record.Record) record.Change { return record.Change{Put: recs} }
	drop := func(refs ...record.Ref) record.Change { return record.Change{Delete: refs} }
	need := func(c record.Change, refs ...record.Ref) record.Change { c.Need = refs; return c }
	version := func(r record.Record, v int64) record.Record { r.Version = v; return r }
	named := func(r record.Record, name string) record.Record { r.Name = name; return r }
	lookup := func(id, lookup string) record.Record {
		return record.Record{Key: record.Key{Kind: record.APIKey, ID: id}, Owner: "globex", Lookup: lookup}
	}
	none := record.Change{Limits: []record.Limit{{Owner: "acme", Kinds: recordKinds}}}
	all := put(named(fresh, m1.Name))
	all.Limits = none.Limits
	for _, row := range []struct {
		rule   string
		change record.Change
		want   error
		keys   []record.Key
	}{
		{"Put of an old version is a conflict", put(version(m1, 1)), record.ErrConflict, []record.Key{m1.Key}},
		{"Put of a version to come is a conflict", put(version(m1, 3)), record.ErrConflict, []record.Key{m1.Key}},
		{"Put of a version of an unknown record finds nothing", put(version(fresh, 1)), record.ErrNotFound, []record.Key{fresh.Key}},
		{"Put of another owner's record finds nothing", put(version(edited(m3, func(r *record.Record) { r.Owner = "acme" }), 1)), record.ErrNotFound, []record.Key{m3.Key}},
		{"a name is taken within owner, kind and parent", put(named(fresh, m1.Name)), record.ErrDuplicate, []record.Key{fresh.Key}},
		{"an endpoint's name is taken within its parent", put(named(newEndpoint("acme", "m1", "e9"), e1.Name)), record.ErrDuplicate, []record.Key{endpointKey("e9")}},
		{"an update takes no other record's name", put(version(named(m1, "name of m2"), 2)), record.ErrDuplicate, []record.Key{m1.Key}},
		{"two records of a Change cannot have one name", put(fresh, named(newMonitor("acme", "m8"), fresh.Name)), record.ErrDuplicate, []record.Key{fresh.Key, monitorKey("m8")}},
		{"a lookup is taken over all owners", put(lookup("k9", "abc")), record.ErrDuplicate, []record.Key{{Kind: record.APIKey, ID: "k9"}}},
		{"two records of a Change cannot have one lookup", put(lookup("k8", "x"), lookup("k9", "x")), record.ErrDuplicate, []record.Key{{Kind: record.APIKey, ID: "k8"}, {Kind: record.APIKey, ID: "k9"}}},
		{"an id is taken", put(named(m1, "other")), record.ErrDuplicate, []record.Key{m1.Key}},
		{"an id is taken over all owners", put(edited(m3, func(r *record.Record) { r.Owner = "acme" })), record.ErrDuplicate, []record.Key{m3.Key}},
		{"Delete of an old version is a conflict", drop(refOf("acme", m1.Key, 1)), record.ErrConflict, []record.Key{m1.Key}},
		{"Delete of an unknown record finds nothing", drop(refOf("acme", fresh.Key, 0)), record.ErrNotFound, []record.Key{fresh.Key}},
		{"Delete of another owner's record finds nothing", drop(refOf("acme", m3.Key, 0)), record.ErrNotFound, []record.Key{m3.Key}},
		{"the first record is not stored when the second is refused", put(fresh, version(m1, 1)), record.ErrConflict, []record.Key{m1.Key}},
		{"nothing is deleted when Put is refused", record.Change{Delete: []record.Ref{refOf("acme", m1.Key, 2)}, Put: []record.Record{version(fresh, 1)}}, record.ErrNotFound, []record.Key{fresh.Key}},
		{"an update of a record that the Change deletes finds nothing", record.Change{Delete: []record.Ref{refOf("acme", m1.Key, 0)}, Put: []record.Record{version(m1, 2)}}, record.ErrNotFound, []record.Key{m1.Key}},
		{"an update of a child that goes with its parent finds nothing", record.Change{Delete: []record.Ref{refOf("acme", m1.Key, 0)}, Put: []record.Record{version(e1, 2)}}, record.ErrNotFound, []record.Key{e1.Key}},
		{"Need of an unknown record finds nothing", need(put(newEndpoint("acme", "m9", "e9")), refOf("acme", fresh.Key, 0)), record.ErrNotFound, []record.Key{fresh.Key}},
		{"Need of another owner's record finds nothing", need(put(newEndpoint("acme", "m3", "e9")), refOf("acme", m3.Key, 0)), record.ErrNotFound, []record.Key{m3.Key}},
		{"Need of another version is a conflict", need(put(fresh), refOf("acme", m1.Key, 1)), record.ErrConflict, []record.Key{m1.Key}},
		{"Need of a record that the Change deletes finds nothing", need(drop(refOf("acme", m1.Key, 0)), refOf("acme", m1.Key, 0)), record.ErrNotFound, []record.Key{m1.Key}},
		{"Need of a child that goes with its parent finds nothing", need(drop(refOf("acme", m1.Key, 0)), refOf("acme", e1.Key, 0)), record.ErrNotFound, []record.Key{e1.Key}},
		{"a missing Need comes before a taken name", need(put(named(fresh, m1.Name)), refOf("acme", monitorKey("m7"), 0)), record.ErrNotFound, []record.Key{monitorKey("m7")}},
		{"a conflict comes before a taken name", put(named(fresh, m1.Name), version(m1, 1)), record.ErrConflict, []record.Key{m1.Key}},
		{"a taken name comes before a limit", all, record.ErrDuplicate, []record.Key{fresh.Key}},
	} {
		cases = append(cases, storeCase{name: row.rule, run: func(t *storeTest) {
			t.furnishRecords()
			t.refuse(row.change, row.want, row.rule, row.keys...)
		}})
	}
	return cases
}

// recordChangeCases are about changes that can be made.
func recordChangeCases() []storeCase {
	return []storeCase{
		{name: "an update keeps owner, parent, time of creation and note", run: func(t *storeTest) {
			t.furnishRecords()
			t.apply(record.Change{Notes: []record.Note{{Ref: refOf("acme", endpointKey("e1"), 2), Text: "noted"}}})
			want := t.get("acme", endpointKey("e1"))
			change := newEndpoint("acme", "m2", "e1")
			change.Version, change.Name, change.Lookup, change.Status, change.Size, change.Price, change.Data, change.Note = 2, "n", "l", "s", 5, 6, []byte("d"), "ignored"
			change.CreatedAt, change.UpdatedAt = t.at(7), t.at(8)
			t.put(change)
			want.Name, want.Lookup, want.Status, want.Size, want.Price, want.Data, want.UpdatedAt, want.Version = "n", "l", "s", 5, 6, []byte("d"), t.at(8), 3
			t.same(t.get("acme", want.Key), want, "Put has to replace all fields but Owner, Parent, CreatedAt and Note")
			expect(t, t.list(record.Query{Owner: "acme", Kind: record.Endpoint, Parent: monitorKey("m2"), Limit: 9}), "e2 of 1", "an update moves no record to another parent")
		}},
		{name: "another owner's record is not shown", run: func(t *storeTest) {
			t.furnishRecords()
			t.put(newMonitor("", "nobody's"))
			t.absent("acme", monitorKey("m3"), "Get has to return ErrNotFound for another owner's record")
			t.absent("", monitorKey("m3"), "the owner \"\" is an owner like any other: Get has to return ErrNotFound for another owner's record")
			t.absent("acme", monitorKey("nobody's"), "the owner \"\" is an owner like any other: its records are not those of all")
			t.absent("acme", record.Key{Kind: record.Rule, ID: "m1"}, "an id is one of its kind: Get found a record of another kind")
			expect(t, t.get("", monitorKey("nobody's")).Owner, "", "Get has to find a record of the owner \"\"")
		}},
		{name: "a name is free for another owner, kind or parent, and none is no name", run: func(t *storeTest) {
			t.furnishRecords() // with one name for two owners, and one for two parents
			rule := edited(newMonitor("acme", "m1"), func(r *record.Record) { r.Kind, r.Lookup = record.Rule, "abc" })
			var unnamed []record.Record
			for _, id := range []string{"u1", "u2"} {
				unnamed = append(unnamed, record.Record{Key: monitorKey(id), Owner: "acme"})
			}
			t.put(append(unnamed, rule)...)
			expect(t, t.list(record.Query{Owner: "acme", Kind: record.Monitor, Limit: 9}), "m1 m2 u1 u2 of 4", "records without a name do not take it from each other")
			_, err := t.store.Ports().Records.Find(t.Context(), record.Monitor, "")
			t.refused(err, record.ErrNotFound, "Find of \"\" found a record without a lookup")
			found, err := t.store.Ports().Records.Find(t.Context(), record.Rule, "abc")
			t.ok(err, "Find")
			expect(t, found.Kind, record.Rule, "a lookup is one of its kind")
		}},
		{name: "of concurrent creations under one name or lookup one succeeds", run: onTwo(func(one, two *storeTest) {
			for what, edit := range map[string]func(*record.Record){"name": func(r *record.Record) { r.Name = "the same" }, "lookup": func(r *record.Record) { r.Lookup = "the same" }} {
				oneOf(one, record.ErrDuplicate, "Apply that creates a record under one "+what, func(i int) error {
					r := edited(newMonitor("owner of a "+what, fmt.Sprint(what, i)), edit)
					_, err := []*storeTest{one, two}[i%2].store.Ports().Records.Apply(one.Context(), record.Change{Put: []record.Record{r}})
					return err
				})
			}
		})},
		{name: "two records swap their names and lookups", run: func(t *storeTest) {
			a, b := newMonitor("acme", "a"), newMonitor("acme", "b")
			a.Lookup, b.Lookup = "la", "lb"
			t.put(a, b)
			a.Name, b.Name, a.Lookup, b.Lookup, a.Version, b.Version = b.Name, a.Name, b.Lookup, a.Lookup, 1, 1
			t.put(a, b)
			expect(t, t.get("acme", a.Key).Name, "name of b", "names are judged after all of Put")
			for lookup, id := range map[string]string{"la": "b", "lb": "a"} {
				found, err := t.store.Ports().Records.Find(t.Context(), record.Monitor, lookup)
				t.ok(err, "Find")
				expect(t, found.ID, id, "Find has to follow a lookup from record to record")
			}
		}},
		{name: "Delete frees id, name and lookup for Put of the same Change", run: func(t *storeTest) {
			a := edited(newMonitor("acme", "a"), func(r *record.Record) { r.Lookup = "l" })
			t.put(a, newMonitor("acme", "b"))
			heir := edited(a, func(r *record.Record) { r.ID = "c" })
			t.apply(record.Change{Delete: []record.Ref{refOf("acme", a.Key, 1)}, Put: []record.Record{heir}})
			t.absent("acme", a.Key, "Delete has to remove the record")
			again := edited(heir, func(r *record.Record) { r.Owner, r.Data = "globex", []byte("again") })
			t.apply(record.Change{Delete: []record.Ref{refOf("acme", heir.Key, 1)}, Put: []record.Record{again}})
			t.put(newMonitor("acme", "a"))
			again.Version = 1
			t.same(t.get("globex", again.Key), again, "an id that a Change deletes is free for its Put, with Version 1")
			expect(t, t.list(record.Query{Owner: "acme", Kind: record.Monitor, Limit: 9}), "b a of 2", "a record created again is the last in the order of creation")
		}},
		{name: "children go with their parent, once even if named too", run: func(t *storeTest) {
			t.furnishRecords()
			t.put(newEndpoint("acme", "m1", "e4"), newEndpoint("globex", "m1", "stranger"), edited(newEndpoint("acme", "m1", "of a rule"), func(r *record.Record) { r.Parent.Kind = record.Rule }))
			after := t.last()
			n := t.apply(record.Change{Delete: []record.Ref{refOf("acme", monitorKey("m1"), 0), refOf("acme", endpointKey("e1"), 2)}})
			expect(t, entriesOf(t.since(after)), "endpoint=acme/e1 endpoint=acme/e4 monitor=acme/m1", "each record that was deleted has one entry in the feed, children included")
			expect(t, n, after+3, "Apply has to return the number of its last entry")
			t.absent("acme", endpointKey("e4"), "a child has to go with its parent")
			expect(t, t.list(record.Query{Owner: "acme", Kind: record.Endpoint, Limit: 9}), "e2 of a rule of 2", "children of other records stay, also of a rule with the monitor's id")
			expect(t, t.get("globex", endpointKey("stranger")).Owner, "globex", "another owner's record is no child")
			after = t.last()
			t.apply(record.Change{Delete: []record.Ref{refOf("acme", endpointKey("e2"), 0), refOf("acme", monitorKey("m2"), 0)}})
			expect(t, entriesOf(t.since(after)), "endpoint=acme/e2 monitor=acme/m2", "a child that is named before its parent goes once")
			t.put(newEndpoint("acme", "m1", "e1")) // the id and the name are free
		}},
		{name: "a child beside the deletion of its parent does not outlive it", run: onTwo(func(one, two *storeTest) {
			for i := range sized(20, 200) {
				m, e := newMonitor("acme", fmt.Sprint("m", i)), newEndpoint("acme", fmt.Sprint("m", i), fmt.Sprint("e", i))
				one.put(m)
				var created, deleted error
				together(2, func(w int) {
					if w == 0 {
						_, created = one.store.Ports().Records.Apply(one.Context(), record.Change{Put: []record.Record{e}, Need: []record.Ref{refOf("acme", m.Key, 0)}})
					} else {
						_, deleted = two.store.Ports().Records.Apply(two.Context(), record.Change{Delete: []record.Ref{refOf("acme", m.Key, 0)}})
					}
				})
				one.ok(deleted, "Delete of a parent beside the creation of a child")
				if created != nil {
					one.refused(created, record.ErrNotFound, "a child beside the deletion of its parent is created before, or is refused")
				}
				one.absent("acme", e.Key, "a child outlived its parent: Need and the deletion have to exclude each other")
			}
		})},
		{name: "Need is judged after Put", run: func(t *storeTest) {
			t.furnishRecords()
			t.apply(record.Change{
				Put:  []record.Record{newEndpoint("acme", "m9", "e9"), newMonitor("acme", "m9")},
				Need: []record.Ref{refOf("acme", monitorKey("m9"), 0), refOf("acme", monitorKey("m9"), 1), refOf("acme", monitorKey("m1"), 2)},
			})
			expect(t, t.last(), 11, "Need has no entry in the feed")
		}},
		{name: "a note changes nothing but the note", run: func(t *storeTest) {
			t.furnishRecords()
			k := monitorKey("m1")
			want, after := t.get("acme", k), t.last()
			note := func(owner string, k record.Key, version int64, text string) record.Note {
				return record.Note{Ref: refOf(owner, k, version), Text: text}
			}
			n := t.apply(record.Change{Notes: []record.Note{note("acme", k, 2, "failing")}})
			want.Note = "failing"
			t.same(t.get("acme", k), want, "a note changes neither the version nor another field")
			expect(t, n, 0, "Apply has to return 0 if it made no entry")
			expect(t, len(t.since(after)), 0, "a note has no entry in the feed")
			t.apply(record.Change{Notes: []record.Note{
				note("acme", k, 1, "old"), note("acme", k, 3, "to come"), note("globex", k, 0, "another owner's"), note("acme", monitorKey("unknown"), 0, "of none"),
			}})
			t.same(t.get("acme", k), want, "a note of another version, owner or record has to be dropped without an error")
			want.Version, want.Note = 3, "of the new version"
			t.apply(record.Change{
				Put:   []record.Record{edited(want, func(r *record.Record) { r.Version, r.Note = 2, "" })},
				Notes: []record.Note{note("acme", k, 2, "of the old version"), note("acme", k, 3, "of the new version")},
			})
			t.same(t.get("acme", k), want, "notes are set after Put, which keeps them")
			t.apply(record.Change{Notes: []record.Note{note("acme", k, 0, "")}})
			expect(t, t.get("acme", k).Note, "", "an empty note removes the note")
		}},
		{name: "versions count the changes of a record, one at a time", run: onTwo(func(one, two *storeTest) {
			m := newMonitor("acme", "m")
			one.put(m)
			for v := int64(1); v <= 10; v++ {
				errs := make([]error, 8)
				together(len(errs), func(i int) {
					_, errs[i] = []*storeTest{one, two}[i%2].store.Ports().Records.Apply(one.Context(), record.Change{Put: []record.Record{edited(m, func(r *record.Record) { r.Version = v; r.Data = bytes.Repeat([]byte{byte(i)}, 9) })}})
				})
				won := 0
				for _, err := range errs {
					if err == nil {
						won++
						continue
					}
					one.refused(err, record.ErrConflict, "Put beside another of the same version is a conflict")
				}
				expect(one, won, 1, "of concurrent updates of one version exactly one may succeed")
				expect(two, two.get("acme", m.Key).Version, v+1, "Put has to count the version up by one")
			}
		})},
	}
}

// recordListCases are about List and Scan.
func recordListCases() []storeCase {
	furnish := func(t *storeTest) {
		for i, owner := range []string{"acme", "", "globex", "acme", "", "acme"} {
			m := newMonitor(owner, fmt.Sprint("m", 9-i)) // ids fall
			m.CreatedAt = t.at(-i)                       // times fall, too
			m.Status = []string{"active", "paused"}[i/4]
			e := newEndpoint(owner, m.ID, fmt.Sprint("e", 9-i))
			e.Status = m.Status
			t.put(m, e, edited(e, func(r *record.Record) { r.ID, r.Name = fmt.Sprint("f", 9-i), "second" }))
		}
	}
	var cases []storeCase
	for _, row := range []struct {
		rule string
		q    record.Query
		want string
	}{
		{"an owner's records of a kind, in the order of creation", record.Query{Owner: "acme", Kind: record.Monitor, Limit: 9}, "m9 m6 m4 of 3"},
		{"those of the owner \"\" alone", record.Query{Owner: "", Kind: record.Monitor, Limit: 9}, "m8 m5 of 2"},
		{"those with a status", record.Query{Owner: "acme", Kind: record.Monitor, Status: "active", Limit: 9}, "m9 m6 of 2"},
		{"those of a parent", record.Query{Owner: "acme", Kind: record.Endpoint, Parent: monitorKey("m6"), Limit: 9}, "e6 f6 of 2"},
		{"those of a parent with a status", record.Query{Owner: "acme", Kind: record.Endpoint, Parent: monitorKey("m4"), Status: "paused", Limit: 9}, "e4 f4 of 2"},
		{"none of a parent of another kind", record.Query{Owner: "acme", Kind: record.Endpoint, Parent: record.Key{Kind: record.Rule, ID: "m6"}, Limit: 9}, " of 0"},
		{"none of another owner's parent", record.Query{Owner: "acme", Kind: record.Endpoint, Parent: monitorKey("m8"), Limit: 9}, " of 0"},
		{"none of an unknown owner", record.Query{Owner: "nobody", Kind: record.Monitor, Limit: 9}, " of 0"},
		{"a page, with the number of all that match", record.Query{Owner: "acme", Kind: record.Endpoint, Offset: 2, Limit: 3}, "e6 f6 e4 of 6"},
		{"a page of one status", record.Query{Owner: "acme", Kind: record.Endpoint, Status: "active", Offset: 3, Limit: 3}, "f6 of 4"},
		{"nothing beyond the end", record.Query{Owner: "acme", Kind: record.Monitor, Offset: 3, Limit: 3}, " of 3"},
		{"the total alone for Limit 0", record.Query{Owner: "acme", Kind: record.Monitor, Status: "paused"}, " of 1"},
	} {
		cases = append(cases, storeCase{name: "List gives " + row.rule, run: func(t *storeTest) {
			furnish(t)
			expect(t, t.list(row.q), row.want, "List has to give %s", row.rule)
		}})
	}
	order := func(t *storeTest, when string) {
		t.Helper()
		expect(t, t.list(record.Query{Owner: "acme", Kind: record.Monitor, Limit: 9}), "m9 m6 m4 of 3", "List has to be in the order of creation %s", when)
		expect(t, joined(t.scan(record.Monitor), func(r record.Record) string { return r.ID }), "m9 m8 m7 m6 m5 m4", "Scan has to be in the order of creation %s", when)
	}
	update := func(t *storeTest) {
		t.put(edited(t.get("acme", monitorKey("m9")), func(r *record.Record) { r.Name, r.Status, r.CreatedAt = "z", "paused", t.at(99) }))
	}
	return append(cases,
		storeCase{name: "updates do not change the order of creation", run: func(t *storeTest) {
			furnish(t)
			update(t)
			order(t, "after an update, too")
			expect(t, t.list(record.Query{Owner: "acme", Kind: record.Monitor, Status: "paused", Limit: 9}), "m9 m4 of 2", "an update moves a record to another status, in its place")
			expect(t, t.list(record.Query{Owner: "acme", Kind: record.Monitor, Status: "active", Limit: 9}), "m6 of 1", "an update takes a record out of its old status")
		}},
		storeCase{name: "a restart changes nothing", needs: needsDurable, run: func(t *storeTest) {
			furnish(t)
			update(t)
			before := t.shown()
			t.reopen()
			expect(t, t.shown(), before, "records have to be there after a restart")
			order(t, "after a restart, too")
			t.put(newMonitor("acme", "later"))
			expect(t, t.list(record.Query{Owner: "acme", Kind: record.Monitor, Limit: 9}), "m9 m6 m4 later of 4", "what is created after a restart comes last")
		}},
		storeCase{name: "Scan stops with the error of fn", run: func(t *storeTest) {
			furnish(t)
			seen := 0
			err := t.store.Ports().Records.Scan(t.Context(), record.Monitor, func(record.Record) error { seen++; return errAny })
			t.refused(err, errAny, "Scan has to return the error of fn")
			expect(t, seen, 1, "Scan goes on after an error of fn")
		}},
		storeCase{name: "Scan stops when its context ends", run: func(t *storeTest) {
			furnish(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			seen := 0
			err := t.store.Ports().Records.Scan(ctx, record.Monitor, func(record.Record) error { seen++; cancel(); return nil })
			t.refused(err, context.Canceled, "Scan has to return the error of a context that ends between two records")
			expect(t, seen, 1, "Scan goes on after its context has ended")
		}},
		storeCase{name: "Scan beside writers gives each record that stays once", run: scanBesideWriters},
	)
}

// scanBesideWriters scans records that are updated, while others are created and deleted.
func scanBesideWriters(t *storeTest) {
	const stay, changes = 600, 20
	stays := func(i int) record.Key { return monitorKey(fmt.Sprint("stays ", i)) }
	for i := range stay {
		t.put(newMonitor("acme", stays(i).ID), newMonitor("acme", fmt.Sprint("goes ", i)))
	}
	beside(t, stay/changes, func(ctx context.Context, round int) error {
		for i := round * changes; i < (round+1)*changes; i++ {
			r := edited(newMonitor("acme", stays(i).ID), func(r *record.Record) { r.Version, r.Status = 1, "updated" })
			if _, err := t.store.Ports().Records.Apply(ctx, record.Change{
				Put: []record.Record{r, newMonitor("acme", fmt.Sprint("comes ", i))}, Delete: []record.Ref{refOf("acme", monitorKey(fmt.Sprint("goes ", i)), 0)},
			}); err != nil {
				return err
			}
		}
		return nil
	}, func() {
		times := map[record.Key]int{}
		for _, r := range t.scan(record.Monitor) {
			if times[r.Key]++; times[r.Key] > 1 {
				t.Fatalf("Scan gave the monitor %q twice", r.ID)
			}
		}
		for i := range stay {
			expect(t, times[stays(i)], 1, "Scan beside writers gives a record that exists all along exactly once")
		}
	})
}
