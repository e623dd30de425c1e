package deliver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// EndpointStatus says whether an endpoint receives.
type EndpointStatus string

// Statuses of an endpoint. A disabled endpoint gets no new deliveries.
const (
	EndpointActive   EndpointStatus = "active"
	EndpointDisabled EndpointStatus = "disabled"
)

// Endpoint is where the events of one monitor or rule are sent.
type Endpoint struct {
	ID        string
	Source    Source
	URL       string
	Secret    Secret // signs the bodies
	Status    EndpointStatus
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Errors of an EndpointStore.
var (
	ErrEndpointNotFound  = errors.New("deliver: endpoint not found")
	ErrEndpointDuplicate = errors.New("deliver: url already bound to this source")
)

// EndpointStore keeps endpoints. Every method is safe for concurrent use. Get,
// Update and Delete of another owner's id answer ErrEndpointNotFound, as for
// an unknown one.
type EndpointStore interface {
	// Create adds e; ErrEndpointDuplicate when its source has the URL already.
	Create(ctx context.Context, e Endpoint) error
	Get(ctx context.Context, owner, id string) (Endpoint, error)
	// List gives an owner's endpoints, oldest first; of one source only when
	// sourceID is not "".
	List(ctx context.Context, owner, sourceID string) ([]Endpoint, error)
	// Update replaces URL, Secret, Status and UpdatedAt.
	Update(ctx context.Context, e Endpoint) error
	// Delete removes the endpoint; deliveries still open for it end in
	// StateFailed with nothing more attempted.
	Delete(ctx context.Context, owner, id string) error
}

// FieldError says which field has a value that is not allowed.
type FieldError struct{ Field, Value, Allowed string }

func (e *FieldError) Error() string {
	return fmt.Sprintf("deliver: %s %q is not allowed: want %s", e.Field, e.Value, e.Allowed)
}

// Secret is a signing secret. It prints as *** in every form; string(s) is the
// value.
type Secret = secret.Value
