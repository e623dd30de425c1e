package storage

import "context"

// Eraser is what a Store implements, too, when it can forget an owner. The stores of this
// module do. Engine.Erase is the way to call it while an engine runs: it ends the owner's
// work first. What is written at Store holds for this role but for the outcome: Erase makes
// many short writes, and other calls run between them; after an error it can be called
// again, and removes the rest.
type Eraser interface {
	// Erase removes all that the store has of an owner: monitors, rules, endpoints with
	// their secrets and replays, API keys, events, open and final deliveries with their
	// attempts, balance, ledger entries, totals and reservations, answers to its
	// requests. Entries of the feed keep their number, kind and id, and lose the owner's
	// name. The cursors of targets are removed, too; whose they are the store does not
	// know.
	//
	// What may stay is what tells nothing of the owner: hashes, such as the ids of
	// events, and ids that retention still keeps of what it has removed before. Files of
	// the store may keep bytes of what was removed until they are rewritten.
	//
	// No number of an owner's events comes again: the events of an owner without any
	// stored are numbered from one more than the greatest number that an erased owner
	// had, and from 1 while none was erased. So who comes back to a WebSocket with a
	// number from before misses nothing.
	//
	// Erase removes what is there; what other calls write for the owner meanwhile may
	// stay. For an owner of whom there is nothing it returns zeros.
	Erase(ctx context.Context, owner string, targets ...string) (Erased, error)
}

// Erased counts what an Erase removed.
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
	Answers      int `json:"answers"` // to requests, with those that are under way
	Changes      int `json:"changes"` // entries of the feed that lost the owner's name
}

// Add adds the counts of another Erase.
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
