package main

import (
	"fmt"
	"slices"
	"time"
)

// facts are what customers know: what they asked for, and what they were told.
// An answer is a promise. What was asked and never answered may have happened or
// not.
type facts struct {
	Watches      map[string]*watchFacts    // by monitor id
	Rules        map[string]*ruleFacts     // by id
	Endpoints    map[string]*endpointFacts // by id
	Entries      map[string]*entryFacts    // by id
	Reservations map[string]*reservationFacts
	Gone         map[string]bool      // by owner who was to be forgotten: whether that was answered
	From         map[string]time.Time // by URL, of webhooks that are to get events from before
	Broken       []violation          // promises that an answer itself broke
	// joined is, by target, the earliest moment from which a monitor or rule watches
	// it: of those that were created since the last look at the store, or that
	// somebody asked to change or delete since.
	joined    map[string]time.Time
	ruleSince map[string]time.Time // since when each rule that the store has shown searches, by id
}

// watchFacts are about a monitor.
type watchFacts struct {
	Owner, Name string
	// Since are the moments from which an account was known to be watched: more
	// than one when it was taken out and added again, or paused.
	Since map[string][]time.Time
	// Told is when the customer knew of it; zero when only the store has shown it.
	Told time.Time
	// Last is what the customer was told last. It is nil where nothing was told, and
	// from when a change is asked for until that is answered.
	Last *watch
	// Fixed: it is never changed after the beginning of the round.
	Fixed       bool
	DeleteAsked bool
	Deleted     bool
}

// ruleFacts are about a rule that the customer was told of.
type ruleFacts struct {
	DeleteAsked, Deleted bool
}

// endpointFacts are about a webhook.
type endpointFacts struct {
	Source, URL string
	Told        time.Time // zero when only the store has shown it
	DeleteAsked time.Time // zero while nobody has
	Deleted     time.Time // when the deletion was confirmed
	Replays     []*replayFacts
}

// replayFacts are about a replay of a webhook.
type replayFacts struct {
	Since, Until time.Time // of the commits; a zero Since is without that bound
	Asked        time.Time // when it was asked for first
	Tries        int
	Told         bool // it was confirmed
}

func (rf *replayFacts) covers(e *event) bool {
	return !e.Committed.Before(rf.Since) && e.Committed.Before(rf.Until)
}

// entryFacts are about a line of the ledger.
type entryFacts struct {
	Owner  string
	Amount int64
	// Must: it was confirmed. Never: it was refused. Neither: nobody knows.
	Must, Never bool
}

// reservationFacts are about a reservation. It has the id of its ledger entry.
type reservationFacts struct {
	Owner   string
	Amount  int64
	Expires time.Time
	// Held: it was confirmed, and nobody has asked to commit or release it since.
	Held bool
}

func newFacts() *facts {
	return &facts{
		Watches: make(map[string]*watchFacts), Rules: make(map[string]*ruleFacts), Endpoints: make(map[string]*endpointFacts),
		Entries: make(map[string]*entryFacts), Reservations: make(map[string]*reservationFacts), Gone: make(map[string]bool), From: make(map[string]time.Time),
		joined: make(map[string]time.Time), ruleSince: make(map[string]time.Time),
	}
}

func (f *facts) broke(invariant, format string, args ...any) {
	f.Broken = append(f.Broken, violation{invariant, fmt.Sprintf(format, args...)})
}

// noteWatch records a monitor, and since when it watches each of its accounts.
func (f *facts) noteWatch(w *watch) *watchFacts {
	wf := f.Watches[w.ID]
	if wf == nil {
		wf = &watchFacts{Owner: w.Owner, Name: w.Name, Since: make(map[string][]time.Time)}
		f.Watches[w.ID] = wf
	}
	for _, a := range w.Accounts {
		if !slices.ContainsFunc(wf.Since[a.Username], a.Since.Equal) {
			wf.Since[a.Username] = append(wf.Since[a.Username], a.Since)
			f.join(a)
		}
	}
	return wf
}

// join records that a monitor or rule has joined the poll of an account.
func (f *facts) join(a accountSince) {
	name := target(a.Username)
	if earliest, ok := f.joined[name]; !ok || a.Since.Before(earliest) {
		f.joined[name] = a.Since
	}
}

// rejoin records that somebody asks to change or delete a monitor or rule. When
// that fails, the engine has it join its polls again, with the moments it had.
func (f *facts) rejoin(id string) {
	if w := f.Watches[id]; w != nil {
		for name, list := range w.Since {
			for _, since := range list {
				f.join(accountSince{name, since})
			}
		}
	}
	if since, ok := f.ruleSince[id]; ok {
		f.join(accountSince{ruleAuthor, since})
	}
}

// noteEndpoint records a webhook.
func (f *facts) noteEndpoint(e endpoint) *endpointFacts {
	ef := f.Endpoints[e.ID]
	if ef == nil {
		ef = &endpointFacts{Source: e.Source, URL: e.URL}
		f.Endpoints[e.ID] = ef
	}
	return ef
}

// noteState records what the store shows and no customer was told of: what was
// made by an operation whose answer the kill prevented.
func (f *facts) noteState(s *state) {
	for i := range s.Monitors {
		f.noteWatch(&s.Monitors[i])
	}
	for _, r := range s.Rules {
		if _, known := f.ruleSince[r.ID]; !known {
			f.ruleSince[r.ID] = r.Since
			f.join(accountSince{ruleAuthor, r.Since})
		}
	}
	for _, e := range s.Endpoints {
		f.noteEndpoint(e)
	}
}
