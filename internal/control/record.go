package control

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// Status of a record.
type Status string

// Statuses of a record.
const (
	Active Status = "active"
	Paused Status = "paused"
)

// Reasons for a status. The text of an upstream error follows ReasonUpstream.
const (
	ReasonUser     = "paused_by_user"
	ReasonCredits  = "insufficient_credits"
	ReasonUpstream = "upstream_error: "
)

// Head points to the fields of a record that every kind has.
type Head struct {
	ID, Owner        *string
	WebhookURL       *string
	WebhookSecretSet *bool
	Status           *Status
	StatusReason     *string
	CreatedAt        *time.Time
	UpdatedAt        *time.Time
	ResumedAt        *time.Time // when the record last became active again
	Version          *int64
}

// Kind has the functions for the records of a Manager. R is the type of a record. P is the parsed
// form of the record's texts, such as a query.
type Kind[R, P any] struct {
	Name        string // for errors and logs, such as "monitor"
	Prefix      string // of ids
	ErrNotFound error  // of the Store
	ErrConflict error

	// Head returns pointers into the record.
	Head func(*R) Head
	// Check validates the fields that only this kind has, and returns the parsed record.
	Check func(*R) (P, error)
	// Parse parses a stored record. It does not check limits, because a manager with other limits
	// may have stored the record.
	Parse func(*R) (P, error)
	// Restart sets the record to find posts published from now on.
	Restart func(r *R, now time.Time)
	// Advance sets a tracked record to find posts that its polls have not read yet.
	Advance func(ctx context.Context, r *R) error
	// Affects reports whether a failure of the old record is also a failure of the new record r.
	// what is as in Manager.Report. When Follow applies a change of another process, old and r
	// are the same.
	Affects func(old, r *R, what string) bool
}

// Store keeps the records: see monitor.Store and rule.Store.
type Store[R any] interface {
	Create(ctx context.Context, r R) error
	Get(ctx context.Context, owner, id string) (R, error)
	Update(ctx context.Context, r R) error
	Delete(ctx context.Context, owner, id string) error
	Scan(ctx context.Context, fn func(R) error) error
}

// Tracker applies records to the running engine.
type Tracker[R, P any] interface {
	Track(ctx context.Context, r R, p P) error
	Untrack(ctx context.Context, id string) error
}

// Webhooks keeps the endpoint of a record's webhook_url: see monitor.Webhooks.
type Webhooks[R any] interface {
	Check(url string, key secret.Value) error
	Change(ctx context.Context, r R, from, to string, key secret.Value) (generated secret.Value, err error)
	Unbind(ctx context.Context, r R) error
}
