package remote

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// keyHeader is the header with the API key.
const keyHeader = "X-Api-Key"

// service is a client for the other service.
type service struct {
	client *upstream.Client
	prefix string // prefix of all paths, such as "/v1/social"
}

var segmentForm = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)

func newService(cfg upstream.Config, segment string) (service, error) {
	if cfg.Token == "" {
		return service{}, errors.New("remote: Key is missing: want an API key of the other service")
	}
	if segment == "" {
		segment = "social"
	}
	if !segmentForm.MatchString(segment) {
		return service{}, fmt.Errorf("remote: Segment %.40q is not allowed: want 1 to 32 of a-z, 0-9, - and _", segment)
	}
	cfg.TokenHeader = keyHeader
	client, err := upstream.New(cfg)
	if err != nil {
		return service{}, fmt.Errorf("remote: %w", err)
	}
	return service{client, "/v1/" + segment}, nil
}

// unavailable is the beginning of the message in the service's 404 for a private or suspended
// account.
const unavailable = "not available: protected"

// meaning converts an error answer of the service to the matching error of package fetcher.
func meaning(err error) error {
	var status *fetcher.StatusError
	switch {
	case errors.Is(err, fetcher.ErrNotFound) && strings.Contains(err.Error(), unavailable):
		return fmt.Errorf("%w, or suspended", fetcher.ErrProtected)
	case !errors.As(err, &status):
	case status.Code == http.StatusNotImplemented:
		return fmt.Errorf("%w: %w", fetcher.ErrUnsupported, err)
	case status.Code == http.StatusBadGateway && status.RetryAfter > 0: // its platform's limit
		return &fetcher.RateLimitError{RetryAfter: status.RetryAfter}
	}
	return err
}

// published returns a post's publication time. It is the time in the id if that is in the same
// second as created_at, because the id is more precise. Otherwise it is created_at. It is zero
// if created_at is not a time.
func published(id, createdAt string) time.Time {
	at, err := fetcher.ParseTime(createdAt)
	if err != nil {
		return time.Time{}
	}
	if exact, ok := fetcher.SnowflakeTime(id); ok && exact.Unix() == at.Unix() {
		return exact
	}
	return at.UTC()
}

// whole sets FullText to Text, or Text to FullText, if one of them is empty.
func whole(t *fetcher.Tweet) {
	if t.FullText == "" {
		t.FullText = t.Text
	}
	if t.Text == "" {
		t.Text = t.FullText
	}
}
