package poster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// MastodonConfig sets up a Mastodon.
type MastodonConfig struct {
	Server string // such as https://mastodon.example
	// Token is an access token of the account, with the scopes read:accounts and
	// write:statuses.
	Token secret.Value
	// Visibility is "unlisted", which shows a post on the account's page and to its
	// followers, or "public", which shows it on the public timelines, too.
	Visibility string
	HTTP       *http.Client // defaults to one with 30 s for a call
}

// Mastodon posts as a user of Mastodon, or of a server that speaks its API.
type Mastodon struct {
	caller     *caller
	token      func() secret.Value
	visibility string
	acct       string
}

var _ Poster = (*Mastodon)(nil)

// NewMastodon asks the server whose token it is.
func NewMastodon(ctx context.Context, cfg MastodonConfig) (*Mastodon, error) {
	c, err := newCaller("mastodon", cfg.Server, cfg.HTTP)
	if err != nil {
		return nil, err
	}
	if cfg.Token == "" {
		return nil, errors.New("poster: mastodon: the access token is missing")
	}
	if cfg.Visibility != "unlisted" && cfg.Visibility != "public" {
		return nil, fmt.Errorf("poster: visibility %q is not allowed: want unlisted or public", cfg.Visibility)
	}
	m := &Mastodon{caller: c, token: func() secret.Value { return cfg.Token }, visibility: cfg.Visibility}
	var self struct {
		Acct string `json:"acct"`
	}
	if err := c.call(ctx, http.MethodGet, "/api/v1/accounts/verify_credentials", cfg.Token, nil, nil, &self); err != nil {
		return nil, err
	}
	m.acct = self.Acct
	return m, nil
}

// Accounts is the user.
func (m *Mastodon) Accounts() []string { return []string{m.acct} }

// Post makes a status.
func (m *Mastodon) Post(ctx context.Context, _ int, text string) (Posted, error) {
	header := http.Header{
		"Content-Type":    {"application/x-www-form-urlencoded"},
		"Idempotency-Key": {text},
	}
	form := url.Values{"status": {text}, "visibility": {m.visibility}, "language": {"en"}}
	var made struct {
		ID        string    `json:"id"`
		CreatedAt time.Time `json:"created_at"`
	}
	if err := m.caller.call(ctx, http.MethodPost, "/api/v1/statuses", m.token(), header, []byte(form.Encode()), &made); err != nil {
		return Posted{}, err
	}
	if made.ID == "" {
		return Posted{}, fmt.Errorf("poster: mastodon: %w", errNoID)
	}
	return Posted{ID: made.ID, At: made.CreatedAt}, nil
}

// Delete deletes a status.
func (m *Mastodon) Delete(ctx context.Context, id string) error {
	return m.caller.call(ctx, http.MethodDelete, "/api/v1/statuses/"+url.PathEscape(id), m.token(), nil, nil, nil)
}

// Limits keep to a third of what Mastodon allows: 300 posts in 3 hours, and 30 deletions
// in 30 minutes (docs.joinmastodon.org/api/rate-limits).
func (*Mastodon) Limits() Limits {
	return Limits{Posts: 100, Deleted: 30, Gap: 5 * time.Second, InFlight: 4}
}
