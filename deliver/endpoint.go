package deliver

import (
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
	// From is endpoints.NewEndpoint.From. If a process dies before it stores the replay for From,
	// the engine begins the replay at the next start.
	From time.Time

	Status EndpointStatus
	// StatusReason says why the endpoint is disabled, "" for an active one. StatusSince is when
	// Status last changed.
	StatusReason string
	StatusSince  time.Time
	// EnabledAt is when endpoints.Manager.Enable was last called, even for an active endpoint;
	// zero for never. Failures before EnabledAt no longer count.
	EnabledAt time.Time
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
	// Version is 1 after the creation and one more after each change. A change of FailingSince is
	// none.
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

// Errors about endpoints.
var (
	ErrEndpointNotFound  = errors.New("deliver: endpoint not found")
	ErrEndpointDuplicate = errors.New("deliver: url already bound to this source")
	ErrEndpointConflict  = errors.New("deliver: endpoint changed meanwhile")
)

// FieldError reports a field whose value is not allowed.
type FieldError = invalid.FieldError

// Secret is a signing secret. It prints as *** in every form, JSON included;
// string(s) is the value.
type Secret = secret.Value
