package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/streamwatch/streamwatch/record"
)

// recordLimitCases are about limits. Owner acme has two active monitors and a paused one, an
// active rule, and endpoints of the first monitor and the rule.
func recordLimitCases() []storeCase {
	sized := func(kind record.Kind, id, status string, size, price int64) record.Record {
		return record.Record{Key: record.Key{Kind: kind, ID: id}, Owner: "acme", Status: status, Size: size, Price: price}
	}
	child := func(parent record.Key, id, status string) record.Record {
		return record.Record{Key: endpointKey(id), Owner: "acme", Parent: parent, Name: id, Status: status}
	}
	ruleM1 := ruleKey("m1") // the id of a monitor
	furnish := func(t *storeTest) {
		t.put(sized(record.Monitor, "m1", "active", 3, 100), sized(record.Monitor, "m2", "active", 5, 1<<53), sized(record.Monitor, "m3", "paused", 7, 1000),
			sized(record.Rule, "m1", "active", 11, 10_000), child(monitorKey("m1"), "e1", "active"), child(monitorKey("m1"), "e2", "disabled"), child(ruleM1, "e3", "active"))
		t.put(edited(sized(record.Monitor, "theirs", "active", 1000, 1000), func(r *record.Record) { r.Owner = "globex" }),
			edited(sized(record.Monitor, "nobody's", "active", 1000, 1000), func(r *record.Record) { r.Owner = "" }))
	}
	monitors, sources := []record.Kind{record.Monitor}, []record.Kind{record.Monitor, record.Rule}
	m9 := sized(record.Monitor, "m9", "active", 2, 50)
	var cases []storeCase
	for _, row := range []struct {
		name   string
		change record.Change
		limit  record.Limit
		have   int64 // the sum after the change
	}{
		{"the number of records", record.Change{Put: []record.Record{m9}}, record.Limit{Kinds: monitors}, 4},
		{"their sizes", record.Change{Put: []record.Record{m9}}, record.Limit{Kinds: monitors, Of: record.Size}, 17},
		{"their prices", record.Change{Put: []record.Record{m9}}, record.Limit{Kinds: monitors, Of: record.Price}, 1<<53 + 1150},
		{"records of two kinds together", record.Change{Put: []record.Record{m9}}, record.Limit{Kinds: sources}, 5},
		{"sizes of two kinds with a status", record.Change{Put: []record.Record{m9}}, record.Limit{Kinds: sources, Status: "active", Of: record.Size}, 21},
		{"prices of one status", record.Change{Put: []record.Record{m9}}, record.Limit{Kinds: sources, Status: "paused", Of: record.Price}, 1000},
		{"children of a parent", record.Change{Put: []record.Record{child(monitorKey("m1"), "e9", "active")}}, record.Limit{Kinds: []record.Kind{record.Endpoint}, Parent: monitorKey("m1")}, 3},
		{"children of a parent with a status", record.Change{Put: []record.Record{child(ruleM1, "e9", "active")}}, record.Limit{Kinds: []record.Kind{record.Endpoint}, Parent: ruleM1, Status: "active"}, 2},
		{"children of all parents", record.Change{Put: []record.Record{child(ruleM1, "e9", "active")}}, record.Limit{Kinds: []record.Kind{record.Endpoint}}, 4},
		{"what is left after Delete", record.Change{Delete: []record.Ref{refOf("acme", monitorKey("m2"), 0)}, Put: []record.Record{m9}}, record.Limit{Kinds: monitors, Of: record.Size}, 12},
		{"what is left after the children have gone, too", record.Change{Delete: []record.Ref{refOf("acme", monitorKey("m1"), 0)}}, record.Limit{Kinds: []record.Kind{record.Endpoint}}, 1},
		{"an update's difference", record.Change{Put: []record.Record{edited(sized(record.Monitor, "m3", "active", 70, 1), func(r *record.Record) { r.Version = 1 })}}, record.Limit{Kinds: monitors, Status: "active", Of: record.Size}, 78},
		{"what an update takes out of a status", record.Change{Put: []record.Record{edited(sized(record.Monitor, "m1", "paused", 3, 100), func(r *record.Record) { r.Version = 1 })}}, record.Limit{Kinds: monitors, Status: "active", Of: record.Size}, 5},
		{"what is stored, if nothing changes", record.Change{}, record.Limit{Kinds: sources, Of: record.Size}, 26},
	} {
		cases = append(cases, storeCase{name: "a limit is judged for " + row.name, run: func(t *storeTest) {
			furnish(t)
			c := row.change
			row.limit.Owner, row.limit.Max = "acme", row.have-1
			roomy := record.Limit{Owner: "globex", Kinds: monitors, Max: 1}
			c.Limits = []record.Limit{roomy, row.limit}
			t.overLimit(c, row.have, "a sum above Max exceeds the limit")
			row.limit.Max = 0
			c.Limits = []record.Limit{row.limit}
			t.overLimit(c, row.have, "Max 0 allows none")
			row.limit.Max = row.have
			c.Limits = []record.Limit{row.limit, roomy}
			t.apply(c) // a sum of Max is allowed
			row.limit.Max--
			t.overLimit(record.Change{Limits: []record.Limit{row.limit}}, row.have, "the sum has to be the same once the change is made")
		}})
	}
	return append(cases,
		storeCase{name: "Max 0 allows a sum of 0, and deletions lower a sum", run: func(t *storeTest) {
			furnish(t)
			none := record.Limit{Owner: "acme", Kinds: sources}
			t.apply(record.Change{
				Delete: []record.Ref{refOf("acme", monitorKey("m1"), 0), refOf("acme", monitorKey("m2"), 0), refOf("acme", monitorKey("m3"), 0), refOf("acme", ruleM1, 0)},
				Limits: []record.Limit{none, {Owner: "acme", Kinds: recordKinds, Of: record.Price}, {Owner: "nobody", Kinds: recordKinds}},
			})
		}},
		storeCase{name: "of 32 callers one gets the last place", run: onTwo(func(one, two *storeTest) {
			for round := range 5 {
				owner := fmt.Sprint("owner ", round)
				limit := record.Limit{Owner: owner, Kinds: monitors, Max: 3}
				one.put(newMonitor(owner, owner+" a"), newMonitor(owner, owner+" b"))
				var won, lost atomic.Int32
				together(32, func(i int) {
					_, err := []*storeTest{one, two}[i%2].store.Ports().Records.Apply(one.Context(), record.Change{Put: []record.Record{newMonitor(owner, fmt.Sprint(owner, i))}, Limits: []record.Limit{limit}})
					var over *record.LimitError
					switch {
					case err == nil:
						won.Add(1)
					case errors.As(err, &over):
						lost.Add(1)
					default:
						one.Errorf("Apply beside others failed with %v, want a *LimitError", err)
					}
				})
				expect(one, fmt.Sprint(won.Load(), "+", lost.Load()), "1+31", "of 32 concurrent creations for one place exactly one may succeed")
				expect(two, two.list(record.Query{Owner: owner, Kind: record.Monitor}), " of 3", "a limit of 3 has to hold beside 32 callers")
			}
		})},
	)
}
