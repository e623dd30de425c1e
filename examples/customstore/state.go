package main

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
)

// state is all data of the store. As a draft, it is the changes of one call, which become one line of
// the file.
type state struct {
	Records      table[record.Record]   `json:"records,omitzero"` // by recordID
	Feed         table[record.Entry]    `json:"feed,omitzero"`    // by number
	Numbers      table[uint64]          `json:"numbers,omitzero"` // the last one given of "feed" and "value"
	Gone         table[time.Time]       `json:"gone,omitzero"`    // by record.OwnerID: until when the owner is refused
	Values       table[value]           `json:"values,omitzero"`  // by valueID
	Cursors      table[detect.Cursor]   `json:"cursors,omitzero"` // by target
	Owners       table[owner]           `json:"owners,omitzero"`
	Events       table[deliver.Event]   `json:"events,omitzero"`
	Lives        table[life]            `json:"lives,omitzero"` // by event id
	Deliveries   table[delivery]        `json:"deliveries,omitzero"`
	Replays      table[deliver.Replay]  `json:"replays,omitzero"` // by endpoint id
	Entries      table[billing.Entry]   `json:"entries,omitzero"`
	Totals       table[billing.Credits] `json:"totals,omitzero"` // by totalKey
	Reservations table[reservation]     `json:"reservations,omitzero"`
}

// draft is an empty layer above the state.
func (s *state) draft() *state {
	return &state{
		Records:      table[record.Record]{under: &s.Records},
		Feed:         table[record.Entry]{under: &s.Feed},
		Numbers:      table[uint64]{under: &s.Numbers},
		Gone:         table[time.Time]{under: &s.Gone},
		Values:       table[value]{under: &s.Values},
		Cursors:      table[detect.Cursor]{under: &s.Cursors},
		Owners:       table[owner]{under: &s.Owners},
		Events:       table[deliver.Event]{under: &s.Events},
		Lives:        table[life]{under: &s.Lives},
		Deliveries:   table[delivery]{under: &s.Deliveries},
		Replays:      table[deliver.Replay]{under: &s.Replays},
		Entries:      table[billing.Entry]{under: &s.Entries},
		Totals:       table[billing.Credits]{under: &s.Totals},
		Reservations: table[reservation]{under: &s.Reservations},
	}
}

func (s *state) apply(d *state) {
	s.Records.apply(&d.Records)
	s.Feed.apply(&d.Feed)
	s.Numbers.apply(&d.Numbers)
	s.Gone.apply(&d.Gone)
	s.Values.apply(&d.Values)
	s.Cursors.apply(&d.Cursors)
	s.Owners.apply(&d.Owners)
	s.Events.apply(&d.Events)
	s.Lives.apply(&d.Lives)
	s.Deliveries.apply(&d.Deliveries)
	s.Replays.apply(&d.Replays)
	s.Entries.apply(&d.Entries)
	s.Totals.apply(&d.Totals)
	s.Reservations.apply(&d.Reservations)
}

// value is a record.Value.
type value struct {
	Owner   string
	Data    []byte
	Version uint64
	Until   time.Time // the end of its ttl; zero for ever
}

// owner is what is kept of an owner for good.
type owner struct {
	Seq   uint64          // the last number given to an event
	Total billing.Credits // the sum of all entries: available and reserved
	Made  uint64          // deliveries, ever
}

// life is the part of an event that is kept after its removal. An event id is known if it has a life.
type life struct {
	Open       int       // deliveries that are not final
	Since      time.Time // when Open became 0
	Deliveries []string  `json:",omitempty"` // their ids, until they are removed
}

// delivery is a deliver.Delivery without its event, and its log.
type delivery struct {
	N          uint64 // counts the owner's deliveries
	EventID    string
	EndpointID string
	State      deliver.State
	Due        time.Time
	CreatedAt  time.Time
	Uncounted  int               `json:",omitempty"`
	Waited     time.Duration     `json:",omitempty"`
	Orphaned   bool              `json:",omitempty"` // its endpoint's deletion ended it
	Log        []deliver.Attempt `json:",omitempty"`
}

// reservation is a billing.Reservation and what became of it.
type reservation struct {
	billing.Reservation
	Outcome outcome
}

type outcome string

const (
	held      outcome = ""
	committed outcome = "committed"
	released  outcome = "released" // or expired
)

// number gives a new delivery of an owner its number.
func (s *state) number(name string) uint64 {
	o, _ := s.Owners.get(name)
	o.Made++
	s.Owners.put(name, o)
	return o.Made
}

// event returns a copy for a caller. The copy shares Body, which must not be modified.
func (s *state) event(id string) *deliver.Event {
	ev, _ := s.Events.get(id)
	ev.Handlers = slices.Clone(ev.Handlers)
	return &ev
}

func (s *state) delivery(id string, d delivery) deliver.Delivery {
	return deliver.Delivery{
		ID: id, EndpointID: d.EndpointID, Event: s.event(d.EventID), State: d.State,
		Attempts: len(d.Log), Uncounted: d.Uncounted, Waited: d.Waited, EndpointDeleted: d.Orphaned, Due: d.Due, CreatedAt: d.CreatedAt,
	}
}
