package engineui

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/figure"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/internal/search"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
)

// Config configures a Console. Engine is required, and either Authorize or Login.
type Config struct {
	// Engine is the engine that the console shows.
	Engine *streamwatch.Engine
	// Authorize returns who sends a request, and what they may see. It is called concurrently, for
	// every request except those for the style sheet and the script, and every few seconds for a
	// live tail. The request's context ends within 10 s. If Authorize returns an error, the answer
	// is 403.
	Authorize func(*http.Request) (Viewer, error)
	// Login lets people log in with an API key. It cannot be combined with Authorize.
	Login *KeyLogin
	// Ledger has the credits that the console shows. If it is nil, there is no page of credits.
	Ledger billing.Ledger
	// Keys issues and revokes API keys. If it is nil, there is no page of keys.
	Keys *apikey.Manager
	// Logger gets a line for each login and each change, also for those that are refused, and errors
	// that pages do not show. By default nothing is logged.
	Logger *slog.Logger
	// Now returns the current time. Defaults to time.Now.
	Now func() time.Time
}

// Console is an http.Handler. Its methods are safe for concurrent use.
type Console struct {
	cfg       Config
	engine    *streamwatch.Engine
	templates map[string]*template.Template // by the page's path
	login     *login                        // nil without Config.Login
	changes   *limits                       // by owner
	csrf      http.CrossOriginProtection
	index     *search.Index
	began     time.Time               // when the console was made,
	before    map[string]detect.Stats // and the statistics of the sources then
	forecast  *forecast
	tail      *tail
	stop      context.CancelFunc
	done      []<-chan struct{} // closed when the goroutines end
}

// New checks cfg and returns a console. It starts goroutines, which Close ends.
func New(cfg Config) (*Console, error) {
	switch {
	case cfg.Engine == nil:
		return nil, errors.New("engineui: Config.Engine is missing: want an engine")
	case cfg.Authorize == nil && cfg.Login == nil:
		return nil, errors.New("engineui: Config.Authorize is missing: want a func, such as AllowLoopback, or Config.Login")
	case cfg.Authorize != nil && cfg.Login != nil:
		return nil, errors.New("engineui: Config.Login is not allowed beside Config.Authorize: want one of them")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	c := &Console{cfg: cfg, engine: cfg.Engine, began: cfg.Now(), before: statsOf(cfg.Engine), changes: newLimits(), index: search.New(cfg.Engine.Records())}
	var err error
	if cfg.Login != nil {
		if c.login, err = newLogin(*cfg.Login, c.engine.SharedKey, cfg.Now); err != nil {
			return nil, err
		}
		c.cfg.Authorize = c.login.authorize
	}
	if c.templates, err = parsePages(); err != nil {
		return nil, fmt.Errorf("engineui: %w", err)
	}
	c.forecast = newForecast(c.engine.Plan, cfg.Now)
	c.tail = newTail()
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.run(ctx, c.forecast.run)
	unwatch := c.engine.Watch(c.tail.publish)
	c.run(ctx, func(ctx context.Context) {
		<-ctx.Done()
		unwatch()
		c.tail.close()
	})
	return c, nil
}

func (c *Console) run(ctx context.Context, f func(context.Context)) {
	done := make(chan struct{})
	c.done = append(c.done, done)
	go func() {
		defer close(done)
		f(ctx)
	}()
}

// Close ends the console's goroutines and the live tails, and returns when they have ended.
// Pages are still served, without new plans. Close may be called again.
func (c *Console) Close() {
	c.stop()
	for _, done := range c.done {
		<-done
	}
}

// policy is the Content-Security-Policy: it allows only the console's own files.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// pageTime limits the time to make a page, including Authorize.
const pageTime = 10 * time.Second

// ServeHTTP serves a request. The last element of its path selects the page.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers send forms with Origin: null
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if a, ok := assets[name]; ok {
		a.serve(w, r)
		return
	}
	v := &view{Request: r, c: c}
	if err := c.serve(w, v, name); err != nil && !v.answered {
		c.fail(w, v, err)
	}
}

func (c *Console) serve(w http.ResponseWriter, v *view, name string) error {
	write := v.Method == http.MethodPost
	if !write && v.Method != http.MethodGet && v.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD, POST")
		return &failure{http.StatusMethodNotAllowed, "The console knows GET and POST."}
	}
	if write {
		if err := c.csrf.Check(v.Request); err != nil {
			return &failure{http.StatusForbidden, "The form was sent from a page of another site."}
		}
		v.Body = http.MaxBytesReader(w, v.Body, maxForm)
	}
	if c.login != nil && (name == "login" || name == "logout") {
		return c.login.serve(w, v, name)
	}
	whole := v.Context() // a tail lasts longer than pageTime
	ctx, cancel := context.WithTimeout(whole, pageTime)
	defer cancel()
	v.Request = v.WithContext(ctx)
	var err error
	if v.Viewer, err = c.cfg.Authorize(v.Request); err != nil {
		return c.refuse(w, v, name, err)
	}
	v.query = v.URL.Query()
	v.Owner = v.Viewer.Owner
	if v.Chosen() {
		v.Owner = v.query.Get("owner")
	}
	if name == "tail" && v.Method == http.MethodGet {
		v.Request = v.WithContext(whole)
		return c.serveTail(w, v)
	}
	p := c.page(name, v.Viewer)
	if p == nil {
		return errNotFound
	}
	v.page = p
	if v.Viewer.All && p.kind != "" {
		owner, ok, err := c.index.OwnerOf(v.Context(), record.Key{Kind: p.kind, ID: v.query.Get(p.path)})
		if err != nil {
			return err
		}
		if ok {
			v.Owner = owner
		}
	}
	if write {
		return c.change(w, v)
	}
	v.Said = heard(w, v)
	if v.Data, err = p.load(c, v); err != nil {
		return err
	}
	if v.to != "" {
		redirect(w, v.to)
		return nil
	}
	return c.render(w, v, http.StatusOK)
}

// refuse answers a request that Authorize has rejected.
func (c *Console) refuse(w http.ResponseWriter, v *view, name string, err error) error {
	switch {
	case errors.Is(err, errLogin) && (name == "tail" || v.Method == http.MethodPost):
		return &failure{http.StatusUnauthorized, "Log in first."}
	case errors.Is(err, errLogin):
		redirect(w, "login")
		return nil
	case c.login != nil:
		return err // the key cannot be checked now
	case !errors.Is(err, ErrDenied):
		c.cfg.Logger.Error("a request to the console could not be authorized", "error", err)
	}
	return &failure{http.StatusForbidden, "You may not see this."}
}

// maxForm is the maximum size of a form's body, in bytes.
const maxForm = 64 << 10

// Limits of an owner's changes. Refused forms count, too.
const (
	changesPerMinute = 60
	changesAtOnce    = 10
)

// change carries out a form, and redirects to the page that shows the result.
func (c *Console) change(w http.ResponseWriter, v *view) (err error) {
	var d done
	defer func() {
		what, args := "console change", []any{"by", v.Viewer.Name, "key_id", v.Viewer.KeyID, "owner", v.Owner, "page", v.page.path,
			"id", invalid.Cut(cmp.Or(d.ID, v.query.Get(v.page.path), v.query.Get("delivery")), 64), "action", invalid.Cut(v.PostForm.Get("action"), 64)}
		if err != nil {
			what, args = "console change refused", append(args, "error", err)
		}
		c.log(v, what, args...)
	}()
	switch {
	case v.page.actions == nil:
		return &failure{http.StatusMethodNotAllowed, "This page has nothing to change."}
	case !v.Viewer.Write:
		return &failure{http.StatusForbidden, "You may look, and change nothing."}
	}
	rate := changesPerMinute
	if own := v.Viewer.RatePerMinute; own > 0 {
		rate = min(rate, own)
	}
	if wait := c.changes.take(v.Viewer.Owner, c.cfg.Now(), rate, min(rate, changesAtOnce)); wait > 0 {
		retryAfter(w, wait)
		return &failure{http.StatusTooManyRequests, "Too many changes: " + strconv.Itoa(rate) + " a minute are allowed. Nothing was done. Wait " +
			figure.Duration(wait.Truncate(time.Second)+time.Second) + "."}
	}
	if err := v.ParseForm(); err != nil {
		return &failure{http.StatusBadRequest, "The form could not be read."}
	}
	act := v.page.actions[v.PostForm.Get("action")]
	if act == nil {
		return &failure{http.StatusBadRequest, "The field action is not allowed: want " + strings.Join(slices.Sorted(maps.Keys(v.page.actions)), ", ") + "."}
	}
	d, err = act(c, v)
	var refusal *failure
	switch {
	case errors.As(err, &refusal) && refusal.Status == http.StatusConflict: // the form again, with what was in it
		v.Said = &done{Said: refusal.Text, Bad: true}
		var failed error
		if v.Data, failed = v.page.load(c, v); failed == nil {
			failed = c.render(w, v, refusal.Status)
		}
		if failed == nil {
			v.answered = true
		}
		return err
	case err != nil:
		return err
	}
	d.To = cmp.Or(d.To, v.Path()+"?"+v.URL.RawQuery)
	if d.Secret != "" {
		v.page, v.Data = secretPage, &d
		return c.render(w, v, http.StatusOK)
	}
	http.SetCookie(w, cookie(v.Request, saidCookie, d.encode(), 60))
	redirect(w, d.To)
	return nil
}

// secretPage shows a new secret. Its Data is a *done.
var secretPage = &page{path: "\x00secret", title: "Keep it now", file: "secret.html"}

// Was returns what the refused form had in a field, or def.
func (v *view) Was(field, def string) string {
	if v.Said != nil && v.PostForm.Has(field) {
		return v.PostForm.Get(field)
	}
	return def
}

// action carries out a form of a viewer who may write.
type action func(*Console, *view) (done, error)

// done is the result of an action.
type done struct {
	To   string // link to the page that follows, such as v.Link("accounts"); "" for the page of the form
	ID   string // of what was made, for the log
	Said string // a sentence for the page that follows
	Bad  bool   // the sentence tells of a failure
	// Secret is shown once, in the answer to the form, with a link to the page that follows.
	Secret secret.Value
}

// Plain returns the secret for its page.
func (d *done) Plain() string { return string(d.Secret) }

// saidCookie brings done.Said to the page that follows. An address could be made by others.
const saidCookie = "streamwatch_said"

func (d done) encode() string {
	return base64.RawURLEncoding.EncodeToString([]byte(map[bool]string{false: "+", true: "-"}[d.Bad] + cut(500, d.Said)))
}

// heard returns what the last form has led to, and forgets it.
func heard(w http.ResponseWriter, v *view) *done {
	sent, err := v.Cookie(saidCookie)
	if err != nil {
		return nil
	}
	http.SetCookie(w, cookie(v.Request, saidCookie, "", -1))
	text, err := base64.RawURLEncoding.DecodeString(sent.Value)
	if err != nil || len(text) < 2 {
		return nil
	}
	return &done{Said: string(text[1:]), Bad: text[0] == '-'}
}

// log logs what the client of a request has done.
func (c *Console) log(v *view, what string, args ...any) {
	client := v.RemoteAddr
	if c.login != nil {
		client = c.login.Address(v.Request)
	}
	c.cfg.Logger.Info(what, append([]any{"client", invalid.Cut(client, 64)}, args...)...)
}

// redirect sends the browser to another page of the console. It uses a relative link, because
// http.Redirect would omit a prefix that was stripped.
func redirect(w http.ResponseWriter, to string) {
	if to == "" {
		to = "./"
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}
