package storage

import "context"

// Sweeper forgets an owner. While an engine runs, call Engine.Erase instead: it ends the owner's
// work first, and makes the store refuse the owner. The rules of Store apply to this port, except
// those on the outcome. Sweep makes many short writes, and other calls run between them. After an
// error, call it again: it removes the rest.
type Sweeper interface {
	// Sweep removes all data of an owner: monitors, rules, endpoints with their secrets and
	// replays, API keys, events, open and final deliveries with their attempts, balance, ledger
	// entries, totals and reservations, answers to its requests, and values of State with a ttl.
	// Entries of the feed keep their number, kind and id, and lose the owner's name. It also
	// removes the cursors of targets, because the store does not know whose they are.
	//
	// Data that reveals nothing of the owner may stay: hashes, such as the ids of events, and ids
	// of records that retention has removed before. The store's files may contain bytes of removed
	// data until these are overwritten.
	//
	// No sequence number of an owner is used twice. An owner without a stored last number gets numbers
	// above the greatest number of all erased owners, or from 1 on if none was erased. Hence a
	// WebSocket client that continues from an old number misses nothing.
	//
	// Sweep removes the data that is there when it is called. Data that other calls write for the
	// owner meanwhile may stay. For an owner without data it returns zeros.
	Sweep(ctx context.Context, owner string, targets ...string) (Erased, error)
}

// Erased counts what a Sweep removed.
type Erased struct {
	Monitors     int `json:"monitors"`
	Rules        int `json:"rules"`
	Endpoints    int `json:"endpoints"`
	Replays      int `json:"replays"`
	Keys         int `json:"keys"`
	Events       int `json:"events"`
	Deliveries   int `json:"deliveries"`
	Attempts     int `json:"attempts"`
	Entries      int `json:"entries"`
	Reservations int `json:"reservations"`
	Cursors      int `json:"cursors"`
	Answers      int `json:"answers"` // to requests, requests in progress, and values of State
	Changes      int `json:"changes"` // entries of the feed that have lost the owner's name
}

// Add adds the counts of another Sweep.
func (e *Erased) Add(o Erased) {
	e.Monitors += o.Monitors
	e.Rules += o.Rules
	e.Endpoints += o.Endpoints
	e.Replays += o.Replays
	e.Keys += o.Keys
	e.Events += o.Events
	e.Deliveries += o.Deliveries
	e.Attempts += o.Attempts
	e.Entries += o.Entries
	e.Reservations += o.Reservations
	e.Cursors += o.Cursors
	e.Answers += o.Answers
	e.Changes += o.Changes
}
