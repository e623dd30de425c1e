package main

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"time"
)

// outcome is everything that is known about a round. It comes from four independent sources: the
// platform, the receiver, the customers and the store. The checks use nothing else.
type outcome struct {
	Shown     []post             // all posts that the platform has shown
	Requests  map[string][]visit // to the receiver, by delivery id, in order
	Handled   map[string][]visit // calls of the in-process handler, by event id, in order
	Customers *facts
	State     state
	// Life is the number of the latest process. Shared means that several processes ran at the same
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

// visit is a request to the receiver, or a call of the in-process handler. A call has no endpoint,
// signature, source or post.
type visit struct {
	Path     string
	Endpoint string // X-Webhook-Id
	Body     sum
	Signed   bool   // the signature is that of this path's key
	Source   string // what the body says: the monitor's id
	Tweet    string
	At       time.Time
	Status   int // of the answer; 0 if the connection was cut
	Life     int // of the process that it came from
}

// taken reports whether the receiver answered one of the visits with 200.
func taken(visits []visit) bool {
	return slices.ContainsFunc(visits, func(v visit) bool { return v.Status == http.StatusOK })
}

// state is the content of a store. Where possible it is read without the store's own code.
type state struct {
	Events     []event
	Deliveries []delivery
	Cursors    map[string]time.Time // by target
	Entries    []entry
	Balances   map[string]balance // by owner
	Monitors   []watch
	Rules      []filterRule
	Endpoints  []endpoint
	Damage     string // of the store itself, "" for none
}

type event struct {
	ID, Owner, Source, Tweet, Author string
	Seq                              int64
	Committed                        time.Time
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

// watch is a monitor.
type watch struct {
	ID, Owner, Name string
	Active          bool
	Accounts        []accountSince
	Hook            hook
}

// hook is the webhook that a monitor or rule shows: its URL and its id.
type hook struct{ URL, ID string }

type accountSince struct {
	Username string
	Since    time.Time
}

// filterRule is a rule.
type filterRule struct {
	ID, Tag string
	Hook    hook
}

// endpoint is a webhook of a monitor or a rule.
type endpoint struct{ ID, Source, URL string }

const (
	statePending   = "pending"
	stateRetrying  = "retrying"
	stateDelivered = "delivered"
	stateFailed    = "failed"

	maxAttempts = 4
)
