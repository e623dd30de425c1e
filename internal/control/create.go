package control

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
)

const maxOwner = 128 // bytes

// Create stores a new active record with its endpoint and starts tracking it. It returns the
// stored record, and the signing secret if one was generated. After an error the record does not
// exist, unless the store's answer was lost and it makes the change later.
func (m *Manager[R, P]) Create(ctx context.Context, r R, w Webhook) (R, secret.Value, error) {
	var none R
	h := m.kind.Head(&r)
	*h.Status, *h.Version, *h.WebhookSecretSet = Active, 0, *h.WebhookURL != ""
	now := m.Now()
	*h.CreatedAt, *h.UpdatedAt = now, now
	m.kind.Restart(&r, now)
	if _, err := m.check(&r, w.Secret); err != nil {
		return none, "", err
	}
	if *h.WebhookURL == "" && w.Limits != (deliver.Limits{}) {
		return none, "", m.refuse("webhook_limits", fmt.Sprint(w.Limits), "none without a webhook_url")
	}
	*h.ID = m.kind.Prefix + strings.ToLower(rand.Text())
	c := record.Change{Put: make([]record.Record, 1, 2)}
	var generated secret.Value
	source, err := m.encode(r)
	if err == nil && *h.WebhookURL != "" {
		var ep record.Record
		if ep, generated, err = m.cfg.Webhooks.New(ctx, source, *h.WebhookURL, w); err == nil {
			*h.WebhookID = ep.ID
			c.Put = append(c.Put, ep)
			source, err = m.encode(r)
		}
	}
	if err != nil {
		return none, "", err
	}
	c.Put[0] = source
	limits, err := m.cfg.Limits(ctx, nil, r, len(c.Put) > 1)
	if err != nil {
		return none, "", err
	}
	feed, err := m.apply(ctx, c, limits)
	if err != nil {
		return none, "", err
	}
	*h.Version = 1
	m.cfg.Logger.Info(string(m.kind.Kind)+" created", "id", *h.ID, "owner", *h.Owner, "name", source.Name)
	if feed != 0 { // Follow need not read the record
		n := feed - uint64(len(c.Put)-1)
		m.created.Store(n, r)
		defer m.created.Delete(n)
	}
	if err := m.applied(ctx, *h.Owner, *h.ID); err != nil { // the follower tries again
		m.cfg.Logger.Error("cannot start a new record: trying again", string(m.kind.Kind), *h.ID, "error", err)
	}
	return r, generated, nil
}

// Ensure creates r if its owner has no record of the name. Otherwise it updates that record: change
// sets the fields that only its kind has, as in Update. The status stays. It stores nothing if the
// record and its endpoint are already so. An endpoint keeps its limits and, if w has none, its secret.
func (m *Manager[R, P]) Ensure(ctx context.Context, r R, name string, w Webhook, change func(r *R, now time.Time) error) (R, secret.Value, error) {
	h := m.kind.Head(&r)
	q := Request{WebhookURL: h.WebhookURL, ensure: true, limits: w.Limits}
	if w.Secret != "" {
		q.WebhookSecret = &w.Secret
	}
	for tries := 1; ; tries++ {
		var stored []record.Record
		var err error
		if name != "" { // Create refuses ""
			stored, _, err = m.cfg.Records.List(ctx, record.Query{Owner: *h.Owner, Kind: m.kind.Kind, Name: name, Limit: 1})
		}
		var is R
		var generated secret.Value
		switch {
		case err != nil:
			return is, "", m.named(err, nil)
		case len(stored) == 0:
			is, generated, err = m.Create(ctx, r, w)
		default:
			is, generated, err = m.Update(ctx, *h.Owner, stored[0].ID, q, change)
		}
		raced := len(stored) == 0 && errors.Is(err, m.kind.ErrDuplicate) || len(stored) > 0 && errors.Is(err, m.kind.ErrNotFound)
		if !raced || tries == updateTries {
			return is, generated, err
		}
	}
}

// check validates all fields of a record and the signing secret key ("" for none).
func (m *Manager[R, P]) check(r *R, key secret.Value) (P, error) {
	var none P
	h := m.kind.Head(r)
	if len(*h.Owner) > maxOwner || !invalid.Printable(*h.Owner) {
		return none, m.refuse("owner", *h.Owner, "at most 128 bytes of printable text")
	}
	p, err := m.kind.Check(r)
	if err != nil {
		return none, err
	}
	if *h.Status != Active && *h.Status != Paused {
		return none, m.refuse("status", string(*h.Status), `"active" or "paused"`)
	}
	if *h.WebhookURL != "" {
		return p, m.cfg.Webhooks.Check(*h.WebhookURL, key)
	}
	if key != "" {
		return none, m.refuse("webhook_secret", secret.Redacted, "none without a webhook_url")
	}
	return p, nil
}
