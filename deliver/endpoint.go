package deliver

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/secret"
)

// EndpointStatus says whether an endpoint receives.
type EndpointStatus string

// Statuses of an endpoint. A disabled endpoint gets no new deliveries; those it
// had end in StateFailed when they are due, and endpoints.Manager.Replay sends
// them after all.
const (
	EndpointActive   EndpointStatus = "active"
	EndpointDisabled EndpointStatus = "disabled"
)

// Endpoint is where the events of one monitor or rule are sent. Its slices are
// shared between copies and not to be modified.
type Endpoint struct {
	ID     string
	Source Source
	URL    string
	// Secret signs: see Sign and SignStandard. OldSecrets are those before it
	// that are valid for a while yet, the newest first; X-Signature-256 is by the
	// last of them.
	Secret     Secret
	OldSecrets []OldSecret
	Headers    []Header // sent beside those of every request
	Limits     Limits
	// Bound says that the endpoint ends with its source: where that does not exist,
	// since a process died while it made or deleted it, the engine removes the
	// endpoint some time after the next start.
	Bound bool
	// From is endpoints.NewEndpoint.From. Where an endpoint with one has no replay, since a
	// process died between the two, the engine begins it at the next start.
	From time.Time `json:",omitzero"`

	Status EndpointStatus
	// StatusReason is why it is disabled, "" when it is not; StatusSince is
	// since when the status is what it is.
	StatusReason string
	StatusSince  time.Time
	// PausedSince is since when the endpoint is paused: deliveries are made for it
	// and kept, and none is attempted. Zero when it is not. A pause lasts up to
	// MaxPause; then the endpoint is disabled.
	PausedSince time.Time
	// FailingSince is when the first attempt began that failed since the last
	// success; zero when the last attempt succeeded or there was none. An answer
	// with a wait that uses up no retry is no failure for an hour. The record has it
	// from the tenth failure in a row; before that endpoints.Manager knows of the
	// attempts of its own process. The dispatcher sets it.
	FailingSince time.Time

	CreatedAt time.Time
	UpdatedAt time.Time
	// Version counts changes: see EndpointStore.Update.
	Version int64
}

// MaxPause is how long an endpoint may be paused. A delivery that comes later
// disables it.
const MaxPause = 7 * 24 * time.Hour

// OldSecret is a secret that a rotation replaced.
type OldSecret struct {
	Secret Secret
	Until  time.Time // it signs before this moment
}

// Header is a header of an endpoint's own. Its value may be a credential of the
// receiver's, so it prints as ***, too.
type Header struct {
	Name  string
	Value Secret
}

// Limits bound what an endpoint gets at a time, from each process of those on one
// store.
type Limits struct {
	Rate     float64 // attempts a second, 0 for any number
	Burst    int     // how many may start at once under a Rate; 0 means a second's
	InFlight int     // attempts under way; 0 means dispatch.Config.LaneInFlight
}

// Clone is a copy that shares no memory with e.
func (e Endpoint) Clone() Endpoint {
	e.OldSecrets = slices.Clone(e.OldSecrets)
	e.Headers = slices.Clone(e.Headers)
	return e
}

// Errors of an EndpointStore.
var (
	ErrEndpointNotFound  = errors.New("deliver: endpoint not found")
	ErrEndpointDuplicate = errors.New("deliver: url already bound to this source")
	ErrEndpointConflict  = errors.New("deliver: endpoint changed meanwhile")
)

// EndpointStore keeps endpoints. Every method is safe for concurrent use; what
// holds for every port is written at storage.Store. The owner of an endpoint is
// its Source.Owner. Get, Update and Delete of another owner's id answer
// ErrEndpointNotFound, as for an unknown one. A Secret prints as *** in JSON,
// too: EncodeEndpoint is the encoding for stores.
type EndpointStore interface {
	// Create adds e as it is, Version included; ErrEndpointDuplicate when its
	// source, which is Source.Owner and Source.ID, has the URL already, or when
	// any endpoint of any owner has the id. Events from before go to it only by a
	// replay: see Replays.
	Create(ctx context.Context, e Endpoint) error
	Get(ctx context.Context, owner, id string) (Endpoint, error)
	// List gives an owner's endpoints in the order of the Create calls; of one
	// source only when sourceID is not "".
	List(ctx context.Context, owner, sourceID string) ([]Endpoint, error)
	// Update replaces all but Source and CreatedAt if the stored Version equals
	// e.Version, and stores e.Version+1. Otherwise it answers, the first that is
	// true: ErrEndpointNotFound, ErrEndpointConflict for another Version,
	// ErrEndpointDuplicate when another endpoint of the source has the URL.
	Update(ctx context.Context, e Endpoint) error
	// Delete removes the endpoint with its replay and frees its id and URL. In the same
	// transaction deliveries still open for it, claimed ones included and however
	// many, end in StateFailed with EndpointDeleted, with their attempts as they are
	// and nothing more attempted. The log shows them still, and their events stay
	// known. Attempts under way are recorded when they end: see Outbox.Settle.
	Delete(ctx context.Context, owner, id string) error
	// Scan calls fn for every endpoint of every owner, in any order, until it
	// returns an error, which Scan returns, or ctx ends between two. Beside writers
	// it shows each that is there all along once. fn must not call the store.
	Scan(ctx context.Context, fn func(Endpoint) error) error
}

// FieldError reports a field whose value is not allowed.
type FieldError = invalid.FieldError

// Secret is a signing secret. It prints as *** in every form, JSON included;
// string(s) is the value.
type Secret = secret.Value
