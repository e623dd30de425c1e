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
	"github.com/streamwatch/streamwatch/secret"
)

// KeyLogin lets in those who have an API key: a form asks for the key, and a cookie holds it,
// sealed with Engine.SharedKey, so that all nodes of a fleet know the session. The cookie is
// limited to the console's paths, hidden from scripts, and not sent from other sites. Every
// request authenticates the key again: when the key ends, so do its sessions.
//
// A viewer sees the records of the key's owner, and may change them if the key's scope allows
// changes: a minute at most 60, or the key's RatePerMinute if that is less. Pages are not
// counted: each makes a bounded number of calls to the store.
type KeyLogin struct {
	// Auth finds the owner of a key. Required.
	Auth apikey.Authenticator
	// Operator reports whether a key sees all owners and the engine. If it is nil, none does.
	Operator func(apikey.Principal) bool
	// Lasts is how long a session lasts, 1 min to 30 days. Defaults to 8 h.
	Lasts time.Duration
	// Address returns the client's address, by which wrong keys are counted; an IPv6 address
	// counts as its /64 network. Defaults to RemoteAddr. Behind a proxy that is the proxy's,
	// and whoever guesses keys locks all others out: return there the address that the proxy
	// has set, and never one that the client can choose.
	Address func(*http.Request) string
}

// Bounds of logins.
const (
	cookieName = "streamwatch_console"
	maxKey     = 512 // bytes of an API key
	// Wrong keys from an address, or /64 network.
	guessesAtOnce    = 10
	guessesPerMinute = 2
)

// login is a KeyLogin at work.
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

// sealer returns what encrypts and decrypts cookies.
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

// authorize finds the viewer of a session.
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

// viewer returns who has a key, or errLogin.
func (l *login) viewer(ctx context.Context, key secret.Value) (Viewer, error) {
	who, err := l.Auth.Authenticate(ctx, key)
	switch {
	case errors.Is(err, apikey.ErrInvalid):
		return Viewer{}, errLogin
	case err != nil:
		return Viewer{}, err
	}
	return Viewer{Name: who.Owner, Owner: who.Owner, All: l.Operator != nil && l.Operator(who), Write: who.Scope.CanWrite(), RatePerMinute: who.RatePerMinute}, nil
}

// loginPage is the form. Its Data is a sentence about the last attempt, if that failed.
var loginPage = &page{path: "login", title: "Log in", file: "login.html"}

// serve answers requests for the form, the form itself, and logging out.
func (l *login) serve(w http.ResponseWriter, v *view, name string) error {
	v.page = loginPage
	if name == "logout" {
		if v.Method == http.MethodPost {
			http.SetCookie(w, l.cookie(v.Request, "", -1))
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
		v.Data = "Too many tries. Wait " + dur(wait.Truncate(time.Second)+time.Second) + "."
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
	switch _, err := l.viewer(ctx, secret.Value(key)); {
	case errors.Is(err, errLogin):
		return l.wrong(w, v)
	case err != nil:
		return err
	}
	l.guesses.giveBack(from) // a right key is no guess
	aead, err := l.sealer(ctx)
	if err != nil {
		return err
	}
	text := binary.BigEndian.AppendUint64(nil, uint64(l.now().Add(l.Lasts).Unix()))
	sealed := aead.Seal(nil, nil, append(text, key...), nil)
	http.SetCookie(w, l.cookie(v.Request, base64.RawURLEncoding.EncodeToString(sealed), int(l.Lasts.Seconds())))
	redirect(w, "")
	return nil
}

func (l *login) wrong(w http.ResponseWriter, v *view) error {
	v.Data = "The key is missing, invalid or expired."
	return v.c.render(w, v, http.StatusUnauthorized)
}

// cookie has no Path: browsers take that of the form, without its last element, which
// is the console's whatever prefix it has.
func (l *login) cookie(r *http.Request, value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: cookieName, Value: value, MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"}
}

// network returns what guesses from an address, with or without a port, are counted by: the
// IPv4 address, or the /64 network of an IPv6 address.
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
