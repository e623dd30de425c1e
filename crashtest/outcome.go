package main

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"time"
)

// outcome is everything that is known about a round, from four sources that do not
// depend on each other: the platform, the receiver, the customers and the store.
// The checks look at nothing else.
type outcome struct {
	Shown    []post             // what the platform has shown until now
	Requests map[string][]visit // to the receiver, by delivery id, in order
	Handled  map[string][]visit // calls of the in-process handler, by event id, in order
	// Unanswered counts the requests and calls that a process got no answer to, by
	// delivery id or event id. A process reports each before it can record it.
	Unanswered map[string]int
	Customers  *facts
	State      state
	// Retaining: settled events may have been removed.
	Retaining bool
	// Rested is a moment just before the ledger write that ends a round; zero until
	// then.
	Rested time.Time
	// Life is the number of the last process so far. Shared: several ran at the same
	// time.
	Life   int
	Shared bool
}

// sent are the requests for a delivery, or the handler's calls.
func (o *outcome) sent(d *delivery) []visit {
	if d.Endpoint == handlerEndpoint {
		return o.Handled[d.Event]
	}
	return o.Requests[d.ID]
}

type sum = [sha256.Size]byte

// post is one post as the platform showed it.
type post struct {
	Account   string
	ID        string
	Published time.Time // to the millisecond
	Visible   time.Time
}

// visit is one request that the receiver got, or one call of the in-process handler,
// which has no endpoint, signature, source and post.
type visit struct {
	Path     string
	Endpoint string // X-Webhook-Id
	Body     sum
	Signed   bool   // the signature is that of this path's key
	Source   string // what the body says: the monitor's id
	Tweet    string
	At       time.Time
	Status   int // what it was answered; 0 when the connection was cut
	Life     int // of the process that it came from
}

// taken reports whether the receiver answered one of the visits with 200.
func taken(visits []visit) bool {
	return slices.ContainsFunc(visits, func(v visit) bool { return v.Status == http.StatusOK })
}

// state is what a store holds, read by code other than the store's own where that
// is possible.
type state struct {
	Events       []event
	Removed      []string // ids of events that retention removed
	Deliveries   []delivery
	Cursors      map[string]time.Time // by target
	Entries      []entry
	Balances     map[string]balance // by owner
	Reservations []reservation      // open ones
	// ReservationsHidden: the store has no way to list them.
	ReservationsHidden bool
	Monitors           []watch
	Rules              []filterRule
	Endpoints          []endpoint
	Replays            []replay // the last of each endpoint
	Damage             string   // what is wrong with the store itself, "" for nothing
}

type event struct {
	ID, Owner, Source, Tweet, Author string
	Seq                              int64
	Committed                        time.Time // zero when it cannot be read
	// Expired: it is past its retention and not removed yet. The store does not
	// show it, so a replay passes it as one that was removed.
	Expired bool
}

type delivery struct {
	ID, Event, Endpoint, State string
	Open                       bool // it will be attempted again
	Attempts                   []attempt
}

type attempt struct {
	N, Status int
	Error     string
}

type entry struct {
	ID, Owner string
	Amount    int64 // thousandths of a credit
	Balance   int64 // available after it
}

type balance struct{ Available, Reserved int64 }

type reservation struct {
	ID, Owner string
	Amount    int64
	Expires   time.Time // zero: never
}

// watch is a monitor.
type watch struct {
	ID, Owner, Name string
	Active          bool
	Accounts        []accountSince
}

type accountSince struct {
	Username string
	Since    time.Time
}

// filterRule is a rule, the webhook_url that it shows, and since when posts are for it.
type filterRule struct {
	ID, Tag, URL string
	Since        time.Time
}

// replay is how far a replay is: numbers of the owner's events.
type replay struct {
	ID, EndpointID, SourceID     string
	After, Cursor, Last, Removed int64
	Created, Reopened, Left      int64
	State                        string
}

// endpoint is a webhook bound to a monitor or a rule.
type endpoint struct{ ID, Source, URL string }

const (
	statePending   = "pending"
	stateRetrying  = "retrying"
	stateDelivered = "delivered"
	stateFailed    = "failed"

	replayRunning = "running"
	replayDone    = "done"

	maxAttempts = 4
)
