package enginehttp

import (
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
)

// keyAPI serves the administration of keys.
type keyAPI struct{ *Handler }

var keyFields = []string{"name", "scope", "expires_at"}

// keyRecord is a key as shown to its owner. Key, the secret itself, is set only in the answer to
// the request that created it.
type keyRecord struct {
	ID                 string       `json:"id"`
	Name               string       `json:"name"`
	Prefix             string       `json:"prefix"`
	Key                string       `json:"key,omitempty"`
	Scope              apikey.Scope `json:"scope"`
	Status             string       `json:"status"`
	Tier               string       `json:"tier"`
	RateLimitPerMinute int          `json:"rate_limit_per_minute"`
	CreatedAt          string       `json:"created_at"`
	ExpiresAt          *string      `json:"expires_at"`
	RevokedAt          *string      `json:"revoked_at"`
	LastUsedAt         *string      `json:"last_used_at"`
}

func (h keyAPI) keyRecord(k *apikey.Key) keyRecord {
	r := keyRecord{ID: k.ID, Name: k.Name, Prefix: k.Prefix, Scope: k.Scope, Status: "active", Tier: k.Tier,
		RateLimitPerMinute: h.rateOf(apikey.Principal{RatePerMinute: k.RatePerMinute}), CreatedAt: timeText(k.CreatedAt)}
	if r.Scope == "" {
		r.Scope = apikey.ScopeWrite
	}
	if !k.ExpiresAt.IsZero() {
		text := timeText(k.ExpiresAt)
		r.ExpiresAt = &text
	}
	if !k.LastUsedAt.IsZero() {
		text := timeText(k.LastUsedAt)
		r.LastUsedAt = &text
	}
	switch {
	case !k.RevokedAt.IsZero():
		text := timeText(k.RevokedAt)
		r.Status, r.RevokedAt = "revoked", &text
	case !k.Valid(time.Now()):
		r.Status = "expired"
	}
	return r
}

type keyPage struct {
	Keys  []keyRecord `json:"keys"`
	Total int         `json:"total"`
	paging
}

func (h keyAPI) listKeys(c *call) (reply, error) {
	p := c.params()
	pg := p.paging()
	if p.err != nil {
		return reply{}, p.err
	}
	list, err := h.opts.Keys.List(c.Context(), c.who.Owner)
	if err != nil {
		return reply{}, err
	}
	out := keyPage{Keys: []keyRecord{}, Total: len(list), paging: pg}
	for _, k := range cutPage(list, pg) {
		out.Keys = append(out.Keys, h.keyRecord(&k))
	}
	return reply{value: out}, nil
}

// createKey issues a key with the tier and the rate of the requesting key. An owner cannot raise
// them.
func (h keyAPI) createKey(c *call) (reply, error) {
	f := c.form
	q := apikey.IssueRequest{Owner: c.who.Owner, Name: f.need("name", "1 to 100 characters"), Scope: apikey.Scope(f.optional("scope")),
		Tier: c.who.Tier, RatePerMinute: c.who.RatePerMinute}
	if f.has("expires_at") && !f.isNull("expires_at") {
		q.ExpiresAt = f.moment("expires_at")
	}
	if f.err != nil {
		return reply{}, f.err
	}
	k, err := h.opts.Keys.Issue(c.Context(), q)
	if err != nil {
		return reply{}, err
	}
	out := h.keyRecord(&k.Key)
	out.Key = string(k.Secret)
	return reply{status: http.StatusCreated, id: k.ID, value: out}, nil
}

func (h keyAPI) revokeKey(c *call) (reply, error) {
	_, err := h.opts.Keys.Revoke(c.Context(), c.who.Owner, c.PathValue("key_id"))
	return reply{status: http.StatusNoContent}, err
}
