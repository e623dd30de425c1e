package storetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
)

// valueCases test texts and bytes that are large, unusual, or meant to do harm.
func valueCases() []storeCase {
	var cases []storeCase
	for _, row := range []struct{ name, text string }{
		{"unicode", "żółw 火箭 🚀👩\u200d🚀 \u202eright to left\u202c e\u0301 é"},
		{"NUL and other control characters", "a\x00b\x01\x1b[31m\r\n\t\x7f"},
		{"SQL", `'; DROP TABLE events; -- " \ %_*?[a-z]`},
		{"JSON and Redis", `{"a":[1,2]} {tag} $6\r\n ${x} %s %!d(MISSING)`},
		{"spaces at both ends", "  \t x \n "},
		{"a number", "007"},
		{"1 KiB", strings.Repeat("0123456789abcdé", 1<<6)},
	} {
		cases = append(cases, storeCase{name: "text survives in every role: " + row.name, run: func(t *storeTest) { textSurvives(t, row.text) }})
	}
	return append(cases,
		storeCase{name: "a body of 1 MiB survives, whatever its bytes", run: func(t *storeTest) {
			ev := newEvent(acme, "1", "log")
			ev.Body = make([]byte, 1<<20)
			rnd := rand.New(rand.NewPCG(1, 2))
			for i := range ev.Body {
				ev.Body[i] = byte(rnd.Uint32())
			}
			want := bytes.Clone(ev.Body)
			t.commitDue(t.start, ev)
			for what, got := range map[string][]byte{"Log.Events": t.events("acme")[0].Body, "Claim": t.claim(t.start, 1)[0].Event.Body} {
				expect(t, bytes.Equal(got, want), true, "%s gave another Body than was committed: every attempt sends these bytes", what)
			}
		}},
		storeCase{name: "text of 64 KiB survives where it is no key", run: func(t *storeTest) {
			long := strings.Repeat("0123456789abcdé", 1<<12)
			c, try := fullCursor(t, "t1"), fullAttempt(t)
			c.Gaps[0].Resume, try.Error, try.ResponsePreview = long, long, long
			m := newMonitor("acme", "m")
			t.apply(record.Change{Put: []record.Record{m}, Notes: []record.Note{{Ref: refOf("acme", m.Key, 1), Text: long}}})
			expect(t, t.get("acme", m.Key).Note == long, true, "a note's long text did not survive")
			t.commit(&detect.Batch{Cursor: &c})
			t.same(t.cursors("t1"), []detect.Cursor{c}, "a cursor's long text did not survive")
			id := withDue(t, 0)[0].ID
			t.settle(deliver.Settlement{DeliveryID: id, Attempt: &try, State: deliver.StateFailed})
			t.same(t.entry("acme", id).Log, []deliver.Attempt{try}, "an attempt's long text did not survive")
		}},
		storeCase{name: "keys made of several parts do not run into each other", run: func(t *storeTest) {
			for _, sep := range []string{":", "/", "|", ",", "\x1f", "::"} {
				for i, part := range [][2]string{{"a" + sep + "b", "c"}, {"a", "b" + sep + "c"}} {
					owner, name := part[0], part[1]
					id := fmt.Sprintf("%q%d", sep, i)
					src := storeSource(owner, name)
					t.bind(src, id)
					b := t.commitDue(t.start, newEvent(src, id))
					expect(t, endpointsOf(b.Deliveries), id, "Commit found the endpoints of another owner's source: owner %q, source %q", owner, name)
				}
			}
		}},
		storeCase{name: "texts that differ in one character are different", run: distinctTexts},
		storeCase{name: "a condition is text and no pattern", run: func(t *storeTest) {
			t.commitDue(t.start, newEvent(acme, "1", "log"))
			t.ok(t.store.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "e", Owner: "acme", SourceID: "m1", Amount: 1}), "Ledger.Append")
			t.put(edited(newMonitor("acme", "m"), func(r *record.Record) { r.Status, r.Lookup = "NASA", "m1" }))
			for _, pattern := range []string{"%", "_", "*", "m_", "m?", "NAS_", "NASA%", "[mN]*", "' OR '1'='1"} {
				for _, q := range []deliver.LogQuery{{Owner: pattern}, {Owner: "acme", SourceID: pattern}, {Owner: "acme", AuthorUsername: pattern}} {
					p, err := t.store.Ports().Log.Deliveries(t.Context(), q)
					t.ok(err, "Log.Deliveries")
					expect(t, p.Total, 0, "Deliveries took %q for a pattern", pattern)
				}
				p, err := t.store.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: "acme", SourceID: pattern})
				t.ok(err, "Ledger.Entries")
				expect(t, p.Total, 0, "Entries took %q for a pattern", pattern)
				for _, q := range []record.Query{{Owner: pattern}, {Owner: "acme", Status: pattern}} {
					q.Kind = record.Monitor
					expect(t, t.list(q), " of 0", "List took %q for a pattern", pattern)
				}
				_, err = t.store.Ports().Records.Find(t.Context(), record.Monitor, pattern)
				t.refused(err, record.ErrNotFound, "Find took %q for a pattern", pattern)
			}
		}},
		storeCase{name: "an error does not tell a secret", run: func(t *storeTest) {
			t.bind(acme, "a")
			e := t.endpoint(acme, "b")
			e.Name = t.endpoint(acme, "a").Name
			for version := range int64(2) {
				e.Version = version
				_, err := t.store.Ports().Records.Apply(t.Context(), record.Change{Put: []record.Record{e}})
				if err == nil || strings.Contains(err.Error(), string(e.Data)) {
					t.Errorf("a call that has to be refused was not, or its error shows the endpoint's Data, which has its secret")
				}
			}
		}},
	)
}

// textSurvives stores a text in every field that takes text, and reads it back.
func textSurvives(t *storeTest, text string) {
	ctx := t.Context()
	src := deliver.Source{Kind: deliver.SourceMonitor, ID: text, Owner: text, Name: text}
	t.bind(src, text)

	ev := fullEvent(t)
	ev.ID, ev.Source, ev.TweetID, ev.AuthorUsername, ev.TextPreview, ev.TweetURL, ev.Platform = text, src, text, text, text, text, text
	ev.Body, ev.Handlers = []byte(text), []string{text}
	c := fullCursor(t, text)
	c.UserID, c.Gaps[0].Resume, c.Position = text, text, text
	charge := fullEntry(t, text, 3)
	charge.Owner, charge.SourceID, charge.SourceName, charge.Endpoint, charge.TierLabel = text, text, text, text, text
	b := &detect.Batch{Events: []deliver.Event{ev}, Cursor: &c, Charges: []billing.Entry{charge}, DeliverBy: t.start}
	t.commit(b)
	t.same(t.cursors(text), []detect.Cursor{c}, "a cursor's text did not survive")
	expect(t, len(b.Deliveries), 2, "Commit has to find the endpoint bound to a source, whatever its id")
	ev.Seq, ev.CommittedAt = 1, b.Events[0].CommittedAt
	t.same(t.events(text), []deliver.Event{ev}, "an event's text did not survive")

	try := fullAttempt(t)
	try.Error, try.ResponsePreview = text, text
	t.claim(t.start, 10, text)
	for _, d := range b.Deliveries {
		t.settle(deliver.Settlement{DeliveryID: d.ID, Attempt: &try, State: deliver.StateFailed})
		t.same(t.entry(text, d.ID).Log, []deliver.Attempt{try}, "an attempt's text did not survive")
	}
	log, err := t.store.Ports().Log.Deliveries(ctx, deliver.LogQuery{Owner: text, SourceID: text, AuthorUsername: text})
	t.ok(err, "Log.Deliveries")
	expect(t, log.Total, 2, "Deliveries has to find text of any kind")

	l := t.store.Ports().Ledger
	t.ok(l.Reserve(ctx, billing.Reservation{ID: "r" + text, Owner: text, Amount: 2}), "Ledger.Reserve")
	t.ok(l.Release(ctx, "r"+text), "Ledger.Release")
	lines, err := l.Entries(ctx, billing.EntryQuery{Owner: text, SourceID: text})
	t.ok(err, "Ledger.Entries")
	charge.Balance = 3
	t.same(lines.Entries, []billing.Entry{charge}, "an entry's text did not survive")
}

// distinctTexts uses similar texts as owners and ids. Each owner has one record of each kind.
func distinctTexts(t *storeTest) {
	ctx, l := t.Context(), t.store.Ports().Ledger
	texts := []string{"case", "CASE", "Case", "\u00e9", "e\u0301", "7", "07", "7.0", "end", "end ", "end\x00", "a\x00b", "a\x00c"}
	for _, text := range texts {
		src := storeSource(text, text)
		m, e := newMonitor(text, text), t.endpoint(src, text)
		m.Lookup, m.Status = text, text
		t.put(m, e)
		ev := newEvent(src, "1", text)
		ev.ID = text
		t.commit(&detect.Batch{Cursor: &detect.Cursor{Target: text, UserID: text}, Events: []deliver.Event{ev}, Charges: []billing.Entry{{ID: text, Owner: text, Amount: 3}}, DeliverBy: t.start})
		t.ok(l.Reserve(ctx, billing.Reservation{ID: "r " + text, Owner: text, Amount: 1}), fmt.Sprintf("Ledger.Reserve of %q", text))
	}
	for _, text := range texts {
		expect(t, string(t.get(text, monitorKey(text)).Data), text, "Get of %q gave another record", text)
		found, err := t.store.Ports().Records.Find(ctx, record.Monitor, text)
		t.ok(err, "Records.Find")
		expect(t, found.ID, text, "Find of %q gave another record", text)
		expect(t, t.list(record.Query{Owner: text, Kind: record.Monitor, Status: text, Limit: 9}), text+" of 1", "List of %q shows others", text)
		expect(t, t.logged(text), "1:1", "the event of %q was taken for another's: ids and owners are compared byte by byte", text)
		expect(t, t.balance(text), "2+1", "the credits of %q were taken for another's: ids and owners are compared byte by byte", text)
		t.same(t.cursors(text), []detect.Cursor{{Target: text, UserID: text}}, "the cursor of %q was taken for another's", text)
		p, err := t.store.Ports().Log.Deliveries(ctx, deliver.LogQuery{Owner: text, SourceID: text})
		t.ok(err, "Log.Deliveries")
		expect(t, p.Total, 2, "Deliveries shows others for those of %q", text)
	}
	expect(t, len(t.claim(t.start, 100, texts[0], deliver.HandlerEndpoint(texts[0]))), 2*len(texts)-2, "Claim left out endpoints that were not to be skipped, or gave one that was")
}
