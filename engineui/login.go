package engineui

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/internal/figure"
	"github.com/streamwatch/streamwatch/secret"
)

// KeyLogin lets people log in with an API key. A form asks for the key. A cookie contains the key,
// encrypted with Engine.SharedKey, so all nodes of a fleet accept the session. The cookie is limited
// to the console's paths, hidden from scripts, and not sent from other sites. Every request
// authenticates the key again. When the key becomes invalid, its sessions end.
//
// A viewer sees the records of the key's owner. If the key's scope allows changes, the viewer may
// make up to 60 changes a minute, or the key's RatePerMinute if that is less. Reading pages is not
// limited, because each page makes a bounded number of calls to the store.
type KeyLogin struct {
	// Auth finds the owner of a key. Required.
	Auth apikey.Authenticator
	// Operator reports whether a key may see all owners and the engine. If it is nil, no key
	// may.
	Operator func(apikey.Principal) bool
	// Lasts is the length of a session, 1 min to 30 days. Defaults to 8 h.
	Lasts time.Duration
	// Address returns the client's address. Wrong keys are counted by address; an IPv6 address
	// counts as its /64 network. Defaults to RemoteAddr. Behind a proxy RemoteAddr is the proxy's,
	// and one client that guesses keys would lock out all others. Return the address set by the
	// proxy there, and never one that the client can choose.
	Address func(*http.Request) string
}

// Limits of logins.
const (
	cookieName = "streamwatch_console"
	maxKey     = 512 // bytes of an API key
	// Limits on wrong keys from an IPv4 address or a /64 network.
	guessesAtOnce    = 10
	guessesPerMinute = 2
)

// login implements a KeyLogin.
type login struct {
	KeyLogin
	shared func(context.Context) (secret.Value, error)
	now    func() time.Time

	guesses *limits

	aead atomic.Pointer[cipher.AEAD] // nil until the shared key is known
}

func newLogin(cfg KeyLogin, shared func(context.Context) (secret.Value, error), now func() time.Time) (*login, error) {
	if cfg.Lasts == 0 {
		cfg.Lasts = 8 * time.Hour
	}
	if cfg.Address == nil {
		cfg.Address = func(r *http.Request) string { return r.RemoteAddr }
	}
	switch {
	case cfg.Auth == nil:
		return nil, errors.New("engineui: Config.Login.Auth is missing: want an apikey.Authenticator")
	case cfg.Lasts < time.Minute || cfg.Lasts > 30*24*time.Hour:
		return nil, fmt.Errorf("engineui: Config.Login.Lasts %s is not allowed: want 1m to 720h, or 0 for 8h", cfg.Lasts)
	}
	return &login{KeyLogin: cfg, shared: shared, now: now, guesses: newLimits()}, nil
}

// sealer returns the cipher for cookies.
func (l *login) sealer(ctx context.Context) (cipher.AEAD, error) {
	if made := l.aead.Load(); made != nil {
		return *made, nil
	}
	shared, err := l.shared(ctx)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, []byte(shared), nil, "streamwatch console session", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	l.aead.Store(&aead)
	return aead, nil
}

// authorize returns the viewer of a session.
func (l *login) authorize(r *http.Request) (Viewer, error) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return Viewer{}, errLogin
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return Viewer{}, errLogin
	}
	aead, err := l.sealer(r.Context())
	if err != nil {
		return Viewer{}, err
	}
	text, err := aead.Open(nil, nil, sealed, nil)
	if err != nil || len(text) <= 8 || !l.now().Before(time.Unix(int64(binary.BigEndian.Uint64(text)), 0)) {
		return Viewer{}, errLogin
	}
	return l.viewer(r.Context(), secret.Value(text[8:]))
}

// viewer returns the viewer for a key, or errLogin if the key is not valid.
func (l *login) viewer(ctx context.Context, key secret.Value) (Viewer, error) {
	who, err := l.Auth.Authenticate(ctx, key)
	switch {
	case errors.Is(err, apikey.ErrInvalid):
		return Viewer{}, errLogin
	case err != nil:
		return Viewer{}, err
	}
	return Viewer{Name: who.Owner, Owner: who.Owner, KeyID: who.KeyID, All: l.Operator != nil && l.Operator(who), Write: who.Scope.CanWrite(), Admin: who.Scope.CanAdmin(), RatePerMinute: who.RatePerMinute, Tier: who.Tier}, nil
}

// loginPage is the form. Its Data is a sentence about the last attempt if that failed.
var loginPage = &page{path: "login", title: "Log in", file: "login.html"}

// serve handles the form's page, its submission, and logging out.
func (l *login) serve(w http.ResponseWriter, v *view, name string) error {
	v.page = loginPage
	if name == "logout" {
		if v.Method == http.MethodPost {
			if who, err := l.authorize(v.Request); err == nil {
				v.c.log(v, "console logout", "owner", who.Owner, "key_id", who.KeyID)
			}
			http.SetCookie(w, cookie(v.Request, cookieName, "", -1))
		}
		redirect(w, "login")
		return nil
	}
	if v.Method != http.MethodPost {
		return v.c.render(w, v, http.StatusOK)
	}
	from := network(l.Address(v.Request))
	if wait := l.guesses.take(from, l.now(), guessesPerMinute, guessesAtOnce); wait > 0 {
		retryAfter(w, wait)
		v.c.log(v, "console login refused", "reason", "too many tries")
		v.Data = "Too many tries. Wait " + figure.Duration(wait.Truncate(time.Second)+time.Second) + "."
		return v.c.render(w, v, http.StatusTooManyRequests)
	}
	if err := v.ParseForm(); err != nil {
		return &failure{http.StatusBadRequest, "The form could not be read."}
	}
	key := v.PostForm.Get("key")
	if key == "" || len(key) > maxKey {
		return l.wrong(w, v)
	}
	ctx, cancel := context.WithTimeout(v.Context(), pageTime)
	defer cancel()
	who, err := l.viewer(ctx, secret.Value(key))
	switch {
	case errors.Is(err, errLogin):
		return l.wrong(w, v)
	case err != nil:
		return err
	}
	l.guesses.giveBack(from) // a valid key does not count as a guess
	aead, err := l.sealer(ctx)
	if err != nil {
		return err
	}
	text := binary.BigEndian.AppendUint64(nil, uint64(l.now().Add(l.Lasts).Unix()))
	sealed := aead.Seal(nil, nil, append(text, key...), nil)
	http.SetCookie(w, cookie(v.Request, cookieName, base64.RawURLEncoding.EncodeToString(sealed), int(l.Lasts.Seconds())))
	v.c.log(v, "console login", "owner", who.Owner, "key_id", who.KeyID)
	redirect(w, "")
	return nil
}

func (l *login) wrong(w http.ResponseWriter, v *view) error {
	v.c.log(v, "console login refused", "reason", "wrong key")
	v.Data = "The key is missing, invalid or expired."
	return v.c.render(w, v, http.StatusUnauthorized)
}

// cookie returns a cookie of the console. It sets no Path. Browsers then use the form's path without
// its last element: the path of the console under any prefix.
func cookie(r *http.Request, name, value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"}
}

// network returns the name under which guesses from an address are counted: the IPv4 address, or
// the /64 network of an IPv6 address. remote may include a port.
func network(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if addr = addr.Unmap().WithZone(""); addr.Is4() {
		return addr.String()
	}
	prefix, err := addr.Prefix(64)
	if err != nil {
		return host
	}
	return prefix.String()
}
