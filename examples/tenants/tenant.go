package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/secret"
)

// tenant is a customer.
type tenant struct {
	Name   string       `json:"name"`
	Key    secret.Value `json:"key"`    // of the customer's requests
	Server string       `json:"server"` // a Mastodon server
	Token  secret.Value `json:"token"`  // of the customer there, "" for none

	engine *streamwatch.Engine
	api    http.Handler // of engine
}

// Authenticate implements apikey.Authenticator, for the one key.
func (t *tenant) Authenticate(_ context.Context, key secret.Value) (apikey.Principal, error) {
	if subtle.ConstantTimeCompare([]byte(key), []byte(t.Key)) != 1 {
		return apikey.Principal{}, apikey.ErrInvalid
	}
	return apikey.Principal{Owner: t.Name, KeyID: t.Name}, nil
}

// front hands each request to its tenant. The keys are hashes: how long the search for one takes
// tells nothing of the others.
type front map[[sha256.Size]byte]*tenant

// add opens a tenant's engine, which the caller runs.
func (f front) add(t tenant, log *slog.Logger) error {
	if len(t.Key) < 16 {
		return errors.New("key is too short: want 16 random characters or more")
	}
	if f.of(t.Key) != nil {
		return errors.New("key is another tenant's: want a key for each")
	}
	source, err := mastodon.New(mastodon.Config{BaseURL: t.Server, Token: t.Token, Visibility: "private"}) // for followers, too
	if err != nil {
		return err
	}
	t.engine, err = streamwatch.New(streamwatch.Config{
		Fetcher: source, CheckAccount: mastodon.CheckAccount, Logger: log,
		WebSocket: &wshub.Options{Authenticate: enginehttp.WebSocketAuth(&t)},
	})
	if err != nil {
		return err
	}
	t.api, err = enginehttp.New(t.engine, enginehttp.Options{
		Auth: &t, Key: bearer, Providers: enginehttp.Providers{Timeline: source}, Logger: log,
	})
	if err != nil {
		return err
	}
	f[sha256.Sum256([]byte(t.Key))] = &t
	return nil
}

// of returns the tenant of a key, nil for none.
func (f front) of(key secret.Value) *tenant { return f[sha256.Sum256([]byte(key))] }

func (f front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t := f.of(bearer(r))
	if t == nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "want Authorization: Bearer and a tenant's key", http.StatusUnauthorized)
		return
	}
	t.api.ServeHTTP(w, r)
}

// bearer returns the token of a request's Authorization header (RFC 6750, section 2.1).
func bearer(r *http.Request) secret.Value {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return secret.Value(strings.TrimSpace(token))
}
