package main

import (
	"fmt"
	"slices"
	"time"
)

// facts has the requests of customers and their answers. An answer is a promise. A request without
// an answer may have been carried out or not.
type facts struct {
	Watches   map[string]*watchFacts    // by monitor id
	Rules     map[string]*recordFacts   // by id
	Endpoints map[string]*endpointFacts // by id
	Entries   map[string]*entryFacts    // by id
	Broken    []violation               // promises that an answer itself broke
}

// recordFacts are about a monitor, a rule or a webhook.
type recordFacts struct {
	Told        time.Time // zero when only the store has shown it
	DeleteAsked time.Time // zero while nobody has
	Deleted     time.Time // when the deletion was confirmed
}

// kept reports whether it is right that a record is there, or not there. Either is right if a
// request about it has no answer.
func (f *recordFacts) kept(there bool) bool {
	if there {
		return f.Deleted.IsZero()
	}
	return f.Told.IsZero() || !f.DeleteAsked.IsZero()
}

// watchFacts are about a monitor.
type watchFacts struct {
	recordFacts
	Owner, Name string
	// Since has the times at which an account began to be watched. There are several if the account
	// was removed and added again, or the monitor was paused.
	Since map[string][]time.Time
	// Last is the monitor in the last answer. It is nil before the first answer, and while a change
	// is in progress.
	Last *watch
	// Fixed means that it is not changed after the beginning of the round.
	Fixed bool
}

// endpointFacts are about a webhook.
type endpointFacts struct {
	recordFacts
	Source, URL string
}

// entryFacts are about a line of the ledger.
type entryFacts struct {
	Owner  string
	Amount int64
	// Must means that it was confirmed, Never that it was refused. If neither is set, the outcome
	// is unknown.
	Must, Never bool
}

func newFacts() *facts {
	return &facts{Watches: make(map[string]*watchFacts), Rules: make(map[string]*recordFacts),
		Endpoints: make(map[string]*endpointFacts), Entries: make(map[string]*entryFacts)}
}

func (f *facts) broke(invariant, format string, args ...any) {
	f.Broken = append(f.Broken, violation{invariant, fmt.Sprintf(format, args...)})
}

// noteWatch records a monitor, and since when it has watched each of its accounts.
func (f *facts) noteWatch(w *watch) *watchFacts {
	wf := f.Watches[w.ID]
	if wf == nil {
		wf = &watchFacts{Owner: w.Owner, Name: w.Name, Since: make(map[string][]time.Time)}
		f.Watches[w.ID] = wf
	}
	for _, a := range w.Accounts {
		if !slices.ContainsFunc(wf.Since[a.Username], a.Since.Equal) {
			wf.Since[a.Username] = append(wf.Since[a.Username], a.Since)
		}
	}
	return wf
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

// webhooksOf returns the facts about the webhooks of a monitor or rule, without deleted ones.
func (f *facts) webhooksOf(source string) (list []*recordFacts) {
	for _, e := range f.Endpoints {
		if e.Source == source && e.Deleted.IsZero() {
			list = append(list, &e.recordFacts)
		}
	}
	return list
}

// noteState records the monitors and webhooks in the store. Some may be from operations that a kill
// left without an answer.
func (f *facts) noteState(s *state) {
	for i := range s.Monitors {
		f.noteWatch(&s.Monitors[i])
	}
	for _, e := range s.Endpoints {
		f.noteEndpoint(e)
	}
}
