package control

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
)

// Status of a monitor or rule.
type Status string

// Statuses of a monitor or rule.
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

// Head points to the fields that monitors and rules share.
type Head struct {
	ID, Owner        *string
	WebhookURL       *string
	WebhookID        *string // of the endpoint with that URL
	WebhookSecretSet *bool
	Status           *Status
	StatusReason     *string
	CreatedAt        *time.Time
	UpdatedAt        *time.Time
	ResumedAt        *time.Time // when it last became active again
	Version          *int64
}

// Kind has the functions for the records of a Manager. R is a monitor or rule. P is the parsed
// form of its texts, such as a query.
type Kind[R, P any] struct {
	Kind   record.Kind
	Prefix string // of ids

	ErrNotFound, ErrDuplicate, ErrConflict error

	// Head returns pointers into the record.
	Head func(*R) Head
	// Encode returns the stored form, without its price. Decode reads it.
	Encode func(R) (record.Record, error)
	Decode func(record.Record) (R, error)
	// Check validates the fields that only this kind has, and returns the parsed record.
	Check func(*R) (P, error)
	// Parse parses a stored record. It does not check limits, because a manager with other limits
	// may have stored the record.
	Parse func(*R) (P, error)
	// Restart sets the record to find posts published from now on.
	Restart func(r *R, now time.Time)
	// Advance sets a tracked record to find posts that its polls have not read yet.
	Advance func(ctx context.Context, r *R) error
	// Affects reports whether a failure, what as in Manager.Report, is one of the record.
	Affects func(r *R, what string) bool
}

// Tracker applies records to the running engine. Its errors that invalid.IsRefused reports are
// about the record itself.
type Tracker[R, P any] interface {
	Track(ctx context.Context, r R, p P, how Start) error
	Untrack(ctx context.Context, id string) error
}

// Start says how polls of a record begin.
type Start struct {
	Spread bool          // they are spread over the interval: many records begin together
	Missed time.Duration // how long its accounts may not have been polled
}

// Webhooks makes the records of endpoints for webhook_urls.
type Webhooks interface {
	// Check returns an error if a URL or a signing secret ("" for none) is not allowed.
	Check(url string, key secret.Value) error
	// New returns the record of a new endpoint of a monitor or rule. It generates a secret if w has
	// none, and returns it.
	New(ctx context.Context, source record.Record, url string, w Webhook) (ep record.Record, generated secret.Value, err error)
	// Change returns the record of an endpoint with another URL and, unless key is "", another
	// secret.
	Change(ctx context.Context, ep record.Record, url string, key secret.Value) (record.Record, error)
	// Has reports whether key is the secret of an endpoint.
	Has(ctx context.Context, ep record.Record, key secret.Value) (bool, error)
	// Error returns the error to show for one that Apply returned about an endpoint.
	Error(err error) error
}

// Webhook has what a new endpoint of a monitor or rule needs besides its URL.
type Webhook struct {
	Secret secret.Value // "" for a generated one
	Limits deliver.Limits
}

// Limit is a limit of a change. Exceeded returns the error if the sum would be have.
type Limit struct {
	record.Limit
	Exceeded func(have int64) error
}
