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

// Statuses of an endpoint. A disabled endpoint gets no new deliveries, and its open deliveries end
// in StateFailed when they are due. endpoints.Manager.Replay can send both later.
const (
	EndpointActive   EndpointStatus = "active"
	EndpointDisabled EndpointStatus = "disabled"
)

// Endpoint is a URL to which the events of one monitor or rule are sent. Copies share its
// slices, which must not be modified.
type Endpoint struct {
	ID     string
	Source Source
	URL    string
	// Secret signs requests: see Sign and SignStandard. OldSecrets are earlier secrets that are
	// still valid, the newest first. If there are any, the oldest one signs X-Signature-256.
	Secret     Secret
	OldSecrets []OldSecret
	Headers    []Header // sent in addition to those of every request
	Limits     Limits
	// Bound means that the endpoint must not exist without its source. If a process dies while it
	// creates or deletes the source, the engine removes the endpoint after the next start.
	Bound bool
	// Separate means that the endpoint was not created by a webhook_url. A change of its source's
	// webhook_url affects the endpoint only if the old webhook_url is the endpoint's URL.
	Separate bool `json:",omitzero"`
	// From is endpoints.NewEndpoint.From. If a process dies before it stores the replay for From,
	// the engine begins the replay at the next start.
	From time.Time `json:",omitzero"`

	Status EndpointStatus
	// StatusReason says why the endpoint is disabled, "" for an active one. StatusSince is when
	// Status last changed.
	StatusReason string
	StatusSince  time.Time
	// EnabledAt is when endpoints.Manager.Enable was last called, even for an active endpoint;
	// zero for never. Failures before EnabledAt no longer count.
	EnabledAt time.Time `json:",omitzero"`
	// PausedSince is when the endpoint was paused, zero if it is not paused. During a pause no
	// attempts are made, and the deliveries wait. After MaxPause the endpoint is disabled.
	PausedSince time.Time
	// FailingSince is when the first failed attempt since the last success began. It is zero if
	// the last attempt succeeded or there was none. For up to an hour, an attempt with a
	// Settlement.Wait is no failure. The dispatcher stores FailingSince after the tenth failure
	// in a row. Until then endpoints.Manager sets it from the attempts of its own process.
	FailingSince time.Time

	CreatedAt time.Time
	UpdatedAt time.Time
	// Version counts changes: see EndpointStore.Update.
	Version int64
}

// MaxPause is how long an endpoint may be paused. The first delivery after that disables it.
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

// Limits limits the attempts to an endpoint. If several processes share the store, each has these
// limits of its own.
type Limits struct {
	Rate     float64 // attempts a second, 0 for any number
	Burst    int     // attempts that may begin together despite Rate; 0 means the attempts of one second
	InFlight int     // concurrent attempts; 0 means dispatch.Config.LaneInFlight
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

// EndpointStore keeps endpoints. Every method is safe for concurrent use; storage.Store has the
// rules for all ports. The owner of an endpoint is its Source.Owner. Get, Update and Delete
// return ErrEndpointNotFound for unknown ids and for those of other owners. Encode endpoints
// with EncodeEndpoint: in plain JSON a Secret is ***.
type EndpointStore interface {
	// Create adds e unchanged, including Version. It returns ErrEndpointDuplicate if an endpoint
	// of the same source (Source.Owner and Source.ID) has the URL, or if any endpoint of any
	// owner has the id. The endpoint gets earlier events only by a replay: see Replays.
	Create(ctx context.Context, e Endpoint) error
	Get(ctx context.Context, owner, id string) (Endpoint, error)
	// List returns an owner's endpoints, in the order of the Create calls. If sourceID is not
	// "", it returns only those of that source.
	List(ctx context.Context, owner, sourceID string) ([]Endpoint, error)
	// Update replaces all fields except Source and CreatedAt, and stores e.Version+1 as the
	// Version. It checks in this order: ErrEndpointNotFound; ErrEndpointConflict if the stored
	// Version is not e.Version; ErrEndpointDuplicate if another endpoint of the source has the
	// URL.
	Update(ctx context.Context, e Endpoint) error
	// Delete removes the endpoint and its replay. Its id and URL may then be used again. In the
	// same transaction all its open deliveries, including claimed ones, end in StateFailed with
	// EndpointDeleted. These deliveries, their attempts and their events stay in the log.
	// Attempts under way are recorded when they end: see Outbox.Settle.
	Delete(ctx context.Context, owner, id string) error
	// Scan calls fn for every endpoint of every owner, in any order. If fn returns an error, Scan
	// stops and returns it. Scan also stops if ctx ends between two calls. It passes an endpoint
	// that exists during the whole Scan exactly once, despite concurrent writes. fn must not call
	// the store.
	Scan(ctx context.Context, fn func(Endpoint) error) error
}

// FieldError reports a field whose value is not allowed.
type FieldError = invalid.FieldError

// Secret is a signing secret. It prints as *** in every form, JSON included;
// string(s) is the value.
type Secret = secret.Value
