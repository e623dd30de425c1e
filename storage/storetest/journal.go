package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/detect"
)

// journalCases test cursors and charges.
func journalCases() []storeCase {
	return append(chargeCases(),
		storeCase{name: "a cursor comes back as it was committed", run: func(t *storeTest) {
			c := fullCursor(t, "t1")
			t.commit(&detect.Batch{Cursor: &c})
			t.same(t.cursors("t1"), []detect.Cursor{fullCursor(t, "t1")}, "Cursors gave another cursor than was committed")
		}},
		storeCase{name: "a cursor replaces the whole one before it", run: func(t *storeTest) {
			c := fullCursor(t, "t1")
			t.commit(&detect.Batch{Cursor: &c})
			t.commit(&detect.Batch{Cursor: &detect.Cursor{Target: "t1", Since: t.at(90)}})
			t.same(t.cursors("t1"), []detect.Cursor{{Target: "t1", Since: t.at(90)}}, "Commit has to replace a cursor with all its fields, gaps included")
		}},
		storeCase{name: "a cursor's gaps are replaced, be they fewer or more", run: func(t *storeTest) {
			for _, gaps := range []int{detect.MaxGaps, 2, 0, 3} {
				c := fullCursor(t, "t1")
				c.Gaps = c.Gaps[len(c.Gaps)-gaps:]
				t.commit(&detect.Batch{Cursor: &c})
				t.same(t.cursors("t1"), []detect.Cursor{c}, "Commit has to replace the gaps of a cursor, here by %d", gaps)
			}
		}},
		storeCase{name: "the last cursor counts, even if it is earlier", run: func(t *storeTest) {
			for _, since := range []int{10, 30, 20} {
				t.commit(&detect.Batch{Cursor: &detect.Cursor{Target: "t1", Since: t.at(since)}})
				t.same(t.cursors("t1"), []detect.Cursor{{Target: "t1", Since: t.at(since)}}, "Cursors has to give the cursor that was committed last: a journal does not judge it")
			}
		}},
		storeCase{name: "the last cursor of a target in one commit counts", run: func(t *storeTest) {
			t.commit(&detect.Batch{Cursor: &detect.Cursor{Target: "t1", Since: t.at(1)}}, &detect.Batch{Cursor: &detect.Cursor{Target: "t1", Since: t.at(2)}})
			t.same(t.cursors("t1"), []detect.Cursor{{Target: "t1", Since: t.at(2)}}, "the cursors of a commit count in the order of its batches")
		}},
		storeCase{name: "a batch without a cursor leaves the stored one", run: func(t *storeTest) {
			c := fullCursor(t, "t1")
			t.commit(&detect.Batch{Cursor: &c})
			t.commitDue(t.start, newEvent(acme, "1"))
			t.same(t.cursors("t1"), []detect.Cursor{fullCursor(t, "t1")}, "a batch without a cursor changed a stored cursor")
		}},
		storeCase{name: "Cursors gives those that are asked for and there", run: func(t *storeTest) {
			for _, target := range []string{"t1", "t2", "T2"} {
				c := fullCursor(t, target)
				t.commit(&detect.Batch{Cursor: &c})
			}
			found := map[string]bool{}
			for _, c := range t.cursors("t2", "unknown", "t1") {
				found[c.Target] = true
			}
			expect(t, fmt.Sprint(found), "map[t1:true t2:true]", "Cursors has to give the cursors of the targets asked for, and leave out what there is none of")
			expect(t, len(t.cursors()), 0, "Cursors of no targets gave cursors")
			expect(t, len(t.cursors("unknown")), 0, "Cursors of an unknown target gave a cursor")
		}},
		storeCase{name: "Cursors gives a thousand at once", run: func(t *storeTest) {
			var batches []*detect.Batch
			var targets []string
			for i := range 1000 {
				targets = append(targets, fmt.Sprint("target_", i))
				batches = append(batches, &detect.Batch{Cursor: &detect.Cursor{Target: targets[i], Since: t.at(i)}})
			}
			t.commit(batches...)
			found := map[string]bool{}
			for _, c := range t.cursors(targets...) {
				found[c.Target] = true
			}
			expect(t, len(found), 1000, "Cursors has to give every cursor asked for, however many targets there are")
		}},
		storeCase{name: "cursors share no memory with the store", run: func(t *storeTest) {
			c := fullCursor(t, "t1")
			t.commit(&detect.Batch{Cursor: &c})
			c.Gaps[0].Target, c.UserID = "spoilt by the giver", "spoilt"
			for range 2 {
				found := t.cursors("t1")
				t.same(found, []detect.Cursor{fullCursor(t, "t1")}, "a cursor shares memory with what Commit was given or with what Cursors gave: copy its gaps")
				if len(found) == 1 && len(found[0].Gaps) > 0 {
					found[0].Gaps[0].Target = "spoilt by the taker"
				}
			}
		}},
	)
}

func (t *storeTest) cursors(targets ...string) []detect.Cursor {
	t.Helper()
	found, err := t.store.Ports().Journal.Cursors(t.Context(), targets...)
	t.ok(err, "Journal.Cursors")
	return found
}

// fullCursor returns a cursor with a value in every field, and as many gaps as allowed.
func fullCursor(t *storeTest, target string) detect.Cursor {
	c := detect.Cursor{Target: target, Since: t.start.Add(time.Microsecond), UserID: "11348282", Position: "1763899200000000"}
	for i := range detect.MaxGaps {
		c.Gaps = append(c.Gaps, detect.Gap{
			Target: target, From: t.at(-100 + i), To: t.at(-99 + i), FoundAt: t.at(i), Resume: strings.Repeat("page ", i),
		})
	}
	return c
}

// chargeCases test the charges of a batch. acme has 10 credits.
func chargeCases() []storeCase {
	charge := func(id, owner string, amount billing.Credits) billing.Entry {
		return billing.Entry{ID: id, Owner: owner, Kind: billing.KindMonitor, Amount: amount}
	}
	var cases []storeCase
	for _, row := range []struct {
		name    string
		charges []billing.Entry
		balance string
		unpaid  string
	}{
		{"that is covered is made", []billing.Entry{charge("c", "acme", -4)}, "6+0", "[]"},
		{"of all there is is made", []billing.Entry{charge("c", "acme", -10)}, "0+0", "[]"},
		{"that is not covered is named, each of several", []billing.Entry{charge("c", "acme", -11), charge("d", "acme", -3), charge("e", "acme", -8), charge("f", "globex", -1)}, "7+0", "[c e f]"},
		{"that is not covered is not made but named", []billing.Entry{charge("c", "acme", -11)}, "10+0", "[c]"},
		{"of one id is made once", []billing.Entry{charge("c", "acme", -4), charge("c", "acme", -4)}, "6+0", "[]"},
		{"under an id known before is skipped", []billing.Entry{charge("top-up of acme", "acme", -4)}, "10+0", "[]"},
		{"after one not covered is made", []billing.Entry{charge("c", "acme", -11), charge("d", "acme", -3)}, "7+0", "[c]"},
		{"after a refund can use it", []billing.Entry{charge("c", "acme", 5), charge("d", "acme", -15)}, "0+0", "[]"},
		{"of an owner without credits is not made", []billing.Entry{charge("c", "globex", -1)}, "10+0", "[c]"},
	} {
		cases = append(cases, storeCase{name: "a charge " + row.name, run: func(t *storeTest) {
			t.topUp("acme", 10)
			b := &detect.Batch{Events: newEvents(acme, "1"), Charges: row.charges}
			t.commit(b)
			expect(t, t.balance("acme"), row.balance, "Journal.Commit: a charge %s", row.name)
			expect(t, fmt.Sprint(b.Unpaid), row.unpaid, "Batch.Unpaid has to name the charges that the balance does not cover, and no others")
			expect(t, t.logged("acme"), "1:1", "Commit has to record the events, paid or not")
		}})
	}
	return append(cases,
		storeCase{name: "a charge not made can be made later", run: func(t *storeTest) {
			b := &detect.Batch{Charges: []billing.Entry{charge("c", "acme", -4)}}
			t.commit(b)
			t.topUp("acme", 10)
			b.Unpaid = nil
			t.commit(b)
			expect(t, t.balance("acme"), "6+0", "Commit remembered the id of a charge that it had not made")
			expect(t, fmt.Sprint(b.Unpaid), "[]", "Commit named a charge as unpaid that is covered")
		}},
		storeCase{name: "a charge is a line of the ledger", run: func(t *storeTest) {
			t.topUp("acme", 10)
			e := fullEntry(t, "c", -4)
			t.commit(&detect.Batch{Charges: []billing.Entry{e}})
			e.Balance = 6
			p, err := t.store.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: "acme", PageSize: 1})
			t.ok(err, "Ledger.Entries")
			t.same(p.Entries, []billing.Entry{e}, "Ledger.Entries gave another line than was committed")
		}},
	)
}
