package deliver

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/secret"
)

// EndpointStatus says whether an endpoint receives deliveries.
type EndpointStatus string

// Statuses of an endpoint. A disabled endpoint gets no new deliveries; its open
// ones end in StateFailed when they are due, and endpoints.Manager.Replay sends
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
	// Secret signs requests: see Sign and SignStandard. OldSecrets are earlier
	// secrets that are still valid for a while, the newest first; the last of them
	// signs X-Signature-256.
	Secret     Secret
	OldSecrets []OldSecret
	Headers    []Header // sent beside those of every request
	Limits     Limits
	// Bound says that the endpoint ends with its source: if the source does not exist,
	// because a process died while it created or deleted the source, the engine removes
	// the endpoint some time after the next start.
	Bound bool
	// Separate says that the endpoint was made by itself: a change of the webhook_url of its
	// monitor or rule does not affect it, unless that shows its URL.
	Separate bool `json:",omitzero"`
	// From is endpoints.NewEndpoint.From. If an endpoint with From has no replay, because a
	// process died before it stored one, the engine begins the replay at the next start.
	From time.Time `json:",omitzero"`

	Status EndpointStatus
	// StatusReason is why the endpoint is disabled, "" for an active one; StatusSince
	// is when Status changed last.
	StatusReason string
	StatusSince  time.Time
	// EnabledAt is when endpoints.Manager.Enable was called last, also for an active
	// endpoint; zero for never. Attempts before it do not count any more.
	EnabledAt time.Time `json:",omitzero"`
	// PausedSince is when the endpoint was paused, zero if it is not: its deliveries
	// are kept, and none is attempted. A pause lasts up to MaxPause; then the endpoint
	// is disabled.
	PausedSince time.Time
	// FailingSince is when the first failed attempt since the last success began;
	// zero if the last attempt succeeded or there was none. An answer with a wait
	// that uses up no retry is no failure for an hour. The dispatcher stores it after
	// the tenth failure in a row; before that endpoints.Manager sets it by the
	// attempts of its own process.
	FailingSince time.Time

	CreatedAt time.Time
	UpdatedAt time.Time
	// Version counts changes: see EndpointStore.Update.
	Version int64
}

// MaxPause is how long an endpoint may be paused. A later delivery disables it.
const MaxPause = 7 * 24 * time.Hour

// OldSecret is a secret that a rotation replaced.
type OldSecret struct {
	Secret Secret
	Until  time.Time // the secret is valid before this moment
}

// Header is a header that an endpoint adds to its requests. Its value may be a
// credential, so it prints as ***.
type Header struct {
	Name  string
	Value Secret
}

// Limits bound the attempts to an endpoint by each process that shares the store.
type Limits struct {
	Rate     float64 // attempts a second, 0 for any number
	Burst    int     // attempts that may begin at once under a Rate; 0 means those of a second
	InFlight int     // attempts under way; 0 means dispatch.Config.LaneInFlight
}

// Clone returns a copy that shares no memory with e.
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

// EndpointStore keeps endpoints. Every method is safe for concurrent use;
// storage.Store has the rules for all ports. The owner of an endpoint is its
// Source.Owner. Get, Update and Delete return ErrEndpointNotFound for another
// owner's id, as for an unknown one. A Secret prints as *** in JSON, too:
// EncodeEndpoint is the encoding for stores.
type EndpointStore interface {
	// Create adds e unchanged, Version included. It returns ErrEndpointDuplicate if
	// the source, which is Source.Owner and Source.ID, has the URL already, or if
	// any endpoint of any owner has the id. Earlier events are sent to the endpoint
	// only by a replay: see Replays.
	Create(ctx context.Context, e Endpoint) error
	Get(ctx context.Context, owner, id string) (Endpoint, error)
	// List returns an owner's endpoints in the order of the Create calls, those of
	// one source if sourceID is not "".
	List(ctx context.Context, owner, sourceID string) ([]Endpoint, error)
	// Update replaces all fields but Source and CreatedAt if the stored Version
	// equals e.Version, and stores e.Version+1. Otherwise it returns the first that
	// applies of ErrEndpointNotFound, ErrEndpointConflict for another Version, and
	// ErrEndpointDuplicate if another endpoint of the source has the URL.
	Update(ctx context.Context, e Endpoint) error
	// Delete removes the endpoint with its replay and frees its id and URL. In the same
	// transaction all its open deliveries, claimed ones included, end in StateFailed
	// with EndpointDeleted. Their recorded attempts stay, and no more are made. The log
	// still shows them, and their events stay known. Attempts under way are recorded
	// when they end: see Outbox.Settle.
	Delete(ctx context.Context, owner, id string) error
	// Scan calls fn for every endpoint of every owner, in any order, until fn
	// returns an error, which Scan returns, or ctx ends between two calls. While
	// others write, an endpoint that exists all along is shown once. fn must not
	// call the store.
	Scan(ctx context.Context, fn func(Endpoint) error) error
}

// FieldError reports a field whose value is not allowed.
type FieldError = invalid.FieldError

// Secret is a signing secret. It prints as *** in every form, JSON included;
// string(s) is the value.
type Secret = secret.Value
