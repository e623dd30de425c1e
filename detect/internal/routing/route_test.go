package routing

import (
	"testing"
	"time"
)

// at is a moment, so many minutes after a rule began.
func at(minutes int) time.Time {
	return time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

// What is done for a rule, by what has become of it and what is so now. The
// overlap is 30 minutes; it is an hour and more after the rule began.
func TestRoute(t *testing.T) {
	want := Want{ID: "r", Query: "moon", Since: at(0), Every: time.Minute}
	for name, row := range map[string]struct {
		query  string // it had, "moon" by default
		state  State
		others []State
		facts  Facts
		next   State
		move   Move
	}{
		"a new one is searched for": {
			next: State{Origin: Search},
			move: Move{To: Search, Since: at(0), From: at(0), Read: at(0)}},
		"a new one comes from timelines": {
			facts: Facts{Covered: true},
			next:  State{Origin: Timelines},
			move:  Move{To: Timelines, Since: at(0), From: at(0), Read: at(0)}},
		"a search is gone on with after a restart": {
			state: State{SearchedBefore: at(60), Behind: true}, facts: Facts{Stored: at(60)},
			next: State{Origin: Search, SearchedBefore: at(60), Behind: true, Read: at(60)},
			move: Move{To: Search, Since: at(30), From: at(30), Start: at(60), Read: at(60)}},
		"timelines are gone on with after a restart": {
			state: State{TimelinesBefore: at(60)}, facts: Facts{Covered: true},
			next: State{Origin: Timelines, TimelinesBefore: at(60), Read: at(60)},
			move: Move{To: Timelines, Since: at(30), From: at(30), Read: at(60)}},
		"timelines are gone on with, each from its own cursor": {
			state: State{Restarted: true, TimelinesBefore: at(60)}, facts: Facts{Covered: true},
			next: State{Origin: Timelines, Restarted: true, TimelinesBefore: at(60), Read: at(60)},
			move: Move{To: Timelines, Resumes: true, Since: at(30), From: at(30), Read: at(60)}},
		"timelines are gone on with, and one was never read": {
			state: State{Restarted: true}, facts: Facts{Covered: true},
			next: State{Origin: Timelines, Restarted: true},
			move: Move{To: Timelines, Resumes: true, Since: at(0), From: at(0), Read: at(0)}},
		"timelines that a search was for before a restart": {
			state: State{Restarted: true, SearchedBefore: at(60), TimelinesBefore: at(70), Behind: true}, facts: Facts{Covered: true},
			next: State{Origin: Timelines, Restarted: true, SearchedBefore: at(60), TimelinesBefore: at(70), Behind: true, Read: at(60)},
			move: Move{To: Timelines, Since: at(30), From: at(30), Read: at(60)}},
		"another query after a restart": {
			query: "sun", state: State{Restarted: true, TimelinesBefore: at(60)}, facts: Facts{Covered: true},
			next: State{Origin: Timelines, Restarted: true},
			move: Move{To: Timelines, Since: at(0), From: at(0), Read: at(0)}},
		"a search that timelines were for before a restart": {
			state: State{TimelinesBefore: at(60)},
			next:  State{Origin: Search, TimelinesBefore: at(60), Read: at(60)},
			move:  Move{To: Search, Since: at(30), From: at(30), Store: at(60), Start: at(60), Read: at(60)}},
		"from a search to timelines": {
			state: State{Origin: Search}, facts: Facts{Covered: true, ReadUntil: at(70)},
			next: State{Origin: Timelines, Read: at(70), Behind: true},
			move: Move{To: Timelines, Leave: Search, Since: at(40), From: at(40), Read: at(70)}},
		"from a search that never succeeded to timelines": {
			state: State{Origin: Search}, facts: Facts{Covered: true},
			next: State{Origin: Timelines, Behind: true},
			move: Move{To: Timelines, Leave: Search, Since: at(0), From: at(0), Read: at(0)}},
		"from timelines to a search": {
			state: State{Origin: Timelines}, facts: Facts{ReadUntil: at(70)},
			next: State{Origin: Search, Read: at(70)},
			move: Move{To: Search, Leave: Timelines, Since: at(40), From: at(40), Store: at(70), Start: at(70), Read: at(70)}},
		"from timelines to a search that others have read further": {
			state: State{Origin: Timelines}, facts: Facts{ReadUntil: at(70), Stored: at(90)},
			next: State{Origin: Search, Read: at(70)},
			move: Move{To: Search, Leave: Timelines, Since: at(40), From: at(40), Start: at(90), Read: at(70)}},
		"from timelines that were never read to a search": {
			state: State{Origin: Timelines},
			next:  State{Origin: Search},
			move:  Move{To: Search, Leave: Timelines, Since: at(0), From: at(0), Read: at(0)}},
		"a search that others make stores its own cursor": {
			state: State{Origin: Timelines}, others: []State{{Origin: Search}}, facts: Facts{ReadUntil: at(70)},
			next: State{Origin: Search, Read: at(70)},
			move: Move{To: Search, Leave: Timelines, Since: at(40), From: at(40), Start: at(70), Read: at(70)}},
		"a search that others may make begins with the earliest": {
			state: State{Origin: Timelines}, others: []State{{TimelinesBefore: at(50)}}, facts: Facts{ReadUntil: at(70)},
			next: State{Origin: Search, Read: at(70)},
			move: Move{To: Search, Leave: Timelines, Since: at(40), From: at(40), Store: at(50), Start: at(70), Read: at(70)}},
		"a search that others may make begins with the rule, of which nothing was read": {
			state: State{Origin: Timelines}, others: []State{{TimelinesBefore: at(50)}},
			next: State{Origin: Search},
			move: Move{To: Search, Leave: Timelines, Since: at(0), From: at(0), Store: at(0), Read: at(0)}},
		"others have searched further before a restart": {
			state: State{SearchedBefore: at(90), TimelinesBefore: at(60)}, others: []State{{SearchedBefore: at(90)}}, facts: Facts{Stored: at(90)},
			next: State{Origin: Search, SearchedBefore: at(90), TimelinesBefore: at(60), Read: at(60)},
			move: Move{To: Search, Since: at(30), From: at(30), Start: at(90), Read: at(60)}},
		"another query begins anew, searched for": {
			query: "sun", state: State{Origin: Search, Read: at(90), SearchedBefore: at(80)}, facts: Facts{ReadUntil: at(95)},
			next: State{Origin: Search},
			move: Move{To: Search, Since: at(0), From: at(0), Read: at(0)}},
		"another query begins anew, from timelines": {
			query: "sun", state: State{Origin: Timelines, Read: at(90)}, facts: Facts{Covered: true},
			next: State{Origin: Timelines},
			move: Move{To: Timelines, Since: at(0), From: at(0), Read: at(0)}},
		"another query that is searched for no more": {
			query: "sun", state: State{Origin: Search, Read: at(90)}, facts: Facts{Covered: true},
			next: State{Origin: Timelines, Behind: true},
			move: Move{To: Timelines, Leave: Search, Since: at(0), From: at(0), Read: at(0)}},
		"timelines that stay keep their beginning": {
			state: State{Origin: Timelines, Read: at(70)}, facts: Facts{Covered: true},
			next: State{Origin: Timelines, Read: at(70)},
			move: Move{To: Timelines, Since: at(0), From: at(0), Read: at(70)}},
	} {
		t.Run(name, func(t *testing.T) {
			var rs Rules
			r := &Rule{}
			had := want
			if row.query != "" {
				had.Query = row.query
			}
			rs.Put(r, had, row.state)
			for i, s := range row.others {
				rs.Put(&Rule{}, Want{ID: string(rune('a' + i)), Query: want.Query, Since: at(0), Every: time.Minute}, s)
			}
			row.facts.Overlap, row.facts.Oldest = 30*time.Minute, at(-1000)
			next, move := rs.Route(r, want, row.facts)
			if next != row.next {
				t.Errorf("state %+v\nwant  %+v", next, row.next)
			}
			if move != row.move {
				t.Errorf("move %+v\nwant %+v", move, row.move)
			}
			if r.State != row.state {
				t.Errorf("routing has changed the rule: %+v", r.State)
			}
		})
	}
}

// The sums follow what rules want and where they come from.
func TestSums(t *testing.T) {
	var rs Rules
	a, b := &Rule{}, &Rule{}
	check := func(polls float64, covered int) {
		t.Helper()
		if rs.Polls() != polls || rs.Covered() != covered {
			t.Errorf("%v polls, %d covered, want %v and %d", rs.Polls(), rs.Covered(), polls, covered)
		}
	}
	rs.Put(a, Want{ID: "a", Query: "moon", Every: time.Second}, State{Origin: Search})
	rs.Put(b, Want{ID: "b", Query: "moon", Every: 10 * time.Second}, State{Origin: Search})
	check(1, 0)
	rs.Put(a, a.Want, State{Origin: Timelines})
	check(0.1, 1)
	if !rs.NeedCursor("moon", map[*Rule]bool{a: true}) {
		t.Error("the cursor is not needed while b searches")
	}
	rs.Put(b, b.Want, State{Origin: Timelines, Behind: true})
	check(0, 2)
	if rs.NeedCursor("moon", map[*Rule]bool{b: true}) || !rs.NeedCursor("moon", map[*Rule]bool{a: true}) {
		t.Error("the cursor is needed until b has been read for, which has left the search")
	}
	rs.Drop(b)
	rs.Drop(b)
	check(0, 1)
	rs.Drop(a)
	check(0, 0)
	if rs.Len() != 0 || rs.Get("a") != nil || len(rs.Of("moon")) != 0 {
		t.Error("rules are left")
	}
}

// What is known of a rule that is there before Run.
func TestRestart(t *testing.T) {
	for name, row := range map[string]struct {
		searched  time.Time
		timelines []time.Time
		authors   int
		want      State
	}{
		"nothing was read":           {want: State{Restarted: true}},
		"it was searched for":        {searched: at(5), authors: 2, want: State{Restarted: true, SearchedBefore: at(5), Behind: true}},
		"all timelines were read":    {timelines: []time.Time{at(3), at(2), at(4)}, authors: 3, want: State{Restarted: true, TimelinesBefore: at(2)}},
		"one timeline was not read":  {timelines: []time.Time{at(3), at(2)}, authors: 3, want: State{Restarted: true}},
		"the search and a timeline":  {searched: at(5), timelines: []time.Time{at(3)}, authors: 1, want: State{Restarted: true, SearchedBefore: at(5), Behind: true, TimelinesBefore: at(3)}},
		"a timeline with an old gap": {timelines: []time.Time{{}, at(2)}, authors: 2, want: State{Restarted: true}},
	} {
		if got := Restart(row.searched, row.timelines, row.authors); got != row.want {
			t.Errorf("%s: %+v, want %+v", name, got, row.want)
		}
	}
}
