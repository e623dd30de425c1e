package engineui_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/secret"
)

// nobody knows no key.
type nobody struct{}

func (nobody) Authenticate(context.Context, secret.Value) (apikey.Principal, error) {
	return apikey.Principal{}, apikey.ErrInvalid
}

// door is a console that is entered by keys.
type door struct {
	*world
	keys *apikey.Manager
	down bool        // the keys cannot be checked
	hung atomic.Bool // nor is there an answer before the request's context ends
}

// newDoor has sessions of the default length for 0.
func newDoor(t *testing.T, lasts time.Duration, change ...func(*engineui.KeyLogin)) *door {
	d := &door{}
	d.world = newWorld(t, func(_ *streamwatch.Config, ui *engineui.Config) {
		ui.Authorize = nil
		ui.Login = &engineui.KeyLogin{Auth: late{d}, Operator: func(p apikey.Principal) bool { return p.Owner == "staff" }, Lasts: lasts}
		for _, f := range change {
			f(ui.Login)
		}
	})
	var err error
	if d.keys, err = apikey.NewManager(apikey.Config{Records: d.store.Ports().Records}); err != nil {
		t.Fatal(err)
	}
	return d
}

// late is the door's keys, which are made after it.
type late struct{ d *door }

func (l late) Authenticate(ctx context.Context, key secret.Value) (apikey.Principal, error) {
	if l.d.hung.Load() {
		<-ctx.Done()
		return apikey.Principal{}, ctx.Err()
	}
	if l.d.down {
		return apikey.Principal{}, errors.New("the store does not answer")
	}
	return l.d.keys.Authenticate(ctx, key)
}

func (d *door) issue(owner string, scope apikey.Scope) apikey.Issued {
	d.t.Helper()
	issued, err := d.keys.Issue(d.t.Context(), apikey.IssueRequest{Owner: owner, Name: "console", Scope: scope})
	if err != nil {
		d.t.Fatal(err)
	}
	return issued
}

// enter sends the form, and returns the answer with its cookie.
func (d *door) enter(key string) (*httptest.ResponseRecorder, *http.Cookie) {
	d.t.Helper()
	got := ask(d, http.MethodPost, "/console/login", url.Values{"key": {key}}.Encode(), http.Header{"Sec-Fetch-Site": {"same-origin"}})
	for _, c := range got.Result().Cookies() {
		return got, c
	}
	return got, nil
}

func (d *door) with(c *http.Cookie, method, path string) *httptest.ResponseRecorder {
	return ask(d, method, path, "", http.Header{"Cookie": {c.Name + "=" + c.Value}})
}

func TestLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, 0)
		d.post("acme_news", "acme's post")
		d.post("globex_news", "globex's post")
		key := d.issue("acme", apikey.ScopeRead)

		first := ask(d, http.MethodGet, "/console/", "", nil)
		if first.Code != http.StatusSeeOther || first.Header().Get("Location") != "login" {
			t.Errorf("without a session: status %d, Location %q, want 303 to login", first.Code, first.Header().Get("Location"))
		}
		form := ask(d, http.MethodGet, "/console/login", "", nil)
		if form.Code != http.StatusOK || !strings.Contains(form.Body.String(), `type="password"`) {
			t.Errorf("the form: status %d", form.Code)
		}
		sound(t, form.Body.String())

		for name, wrong := range map[string]string{"a key of nobody": "sw_live_x", "none": "", "a long one": strings.Repeat("x", 600)} {
			if got, c := d.enter(wrong); got.Code != http.StatusUnauthorized || c != nil {
				t.Errorf("%s: status %d, cookie %v", name, got.Code, c)
			}
		}
		d.down = true
		if got, c := d.enter(string(key.Secret)); got.Code != http.StatusServiceUnavailable || c != nil || strings.Contains(got.Body.String(), "does not answer") {
			t.Errorf("a key that cannot be checked: status %d", got.Code)
		}
		d.down = false
		if got := ask(d, http.MethodPost, "/console/login", "key="+string(key.Secret), http.Header{"Sec-Fetch-Site": {"cross-site"}}); got.Code != http.StatusForbidden {
			t.Errorf("the form of another site: status %d, want 403", got.Code)
		}

		got, c := d.enter(string(key.Secret))
		if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "./" || c == nil {
			t.Fatalf("with the key: status %d to %q, cookie %v", got.Code, got.Header().Get("Location"), c)
		}
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "" || c.MaxAge != 8*3600 || strings.Contains(c.Value, string(key.Secret)) {
			t.Errorf("cookie %v", c)
		}
		page := d.with(c, http.MethodGet, "/console/")
		if page.Code != http.StatusOK || !strings.Contains(page.Body.String(), "acme&#39;s post") || strings.Contains(page.Body.String(), "globex") {
			t.Errorf("acme's page: status %d", page.Code)
		}
		sound(t, page.Body.String())
		if got := d.with(c, http.MethodGet, "/console/sources"); got.Code != http.StatusNotFound {
			t.Errorf("a customer sees the sources: status %d", got.Code)
		}
		if got := d.with(&http.Cookie{Name: c.Name, Value: c.Value[:len(c.Value)-3] + "AAA"}, http.MethodGet, "/console/"); got.Code != http.StatusSeeOther {
			t.Errorf("with a cookie that was changed: status %d, want 303", got.Code)
		}

		d.down = true
		if got := d.with(c, http.MethodGet, "/console/"); got.Code != http.StatusServiceUnavailable || strings.Contains(got.Body.String(), "does not answer") {
			t.Errorf("while keys cannot be checked: status %d, want 503", got.Code)
		}
		d.down = false

		out := d.with(c, http.MethodPost, "/console/logout")
		if cookies := out.Result().Cookies(); out.Code != http.StatusSeeOther || len(cookies) != 1 || cookies[0].MaxAge >= 0 {
			t.Errorf("log out: status %d, cookies %v", out.Code, cookies)
		}

		if _, err := d.keys.Revoke(t.Context(), "acme", key.ID); err != nil {
			t.Fatal(err)
		}
		if got := d.with(c, http.MethodGet, "/console/"); got.Code != http.StatusSeeOther {
			t.Errorf("after the key was revoked: status %d, want 303 to login", got.Code)
		}
		if got := d.with(c, http.MethodGet, "/console/tail"); got.Code != http.StatusUnauthorized {
			t.Errorf("the tail after the key was revoked: status %d, want 401", got.Code)
		}
	})
}

func TestOperatorsLogIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, 0)
		_, c := d.enter(string(d.issue("staff", apikey.ScopeAdmin).Secret))
		if got := d.with(c, http.MethodGet, "/console/sources"); got.Code != http.StatusOK {
			t.Errorf("an operator's key: status %d", got.Code)
		}
	})
}

func TestSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, 10*time.Minute)
		_, c := d.enter(string(d.issue("acme", apikey.ScopeWrite).Secret))
		<-time.After(10*time.Minute - 2*time.Second)
		if got := d.with(c, http.MethodGet, "/console/"); got.Code != http.StatusOK {
			t.Errorf("before the session has ended: status %d", got.Code)
		}
		<-time.After(2 * time.Second)
		if got := d.with(c, http.MethodGet, "/console/"); got.Code != http.StatusSeeOther {
			t.Errorf("after the session has ended: status %d, want 303", got.Code)
		}
	})
}

// Guesses are limited by address; others are not held up.
func TestGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, 0)
		try := func(remote string) int {
			r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader("key=wrong"))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.RemoteAddr = remote
			w := httptest.NewRecorder()
			d.ServeHTTP(w, r)
			if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") != "30" {
				t.Errorf("Retry-After %q, want 30", w.Header().Get("Retry-After"))
			}
			return w.Code
		}
		for i := range 10 {
			if got := try("[2001:db8::" + string(rune('1'+i%9)) + "]:1"); got != http.StatusUnauthorized {
				t.Errorf("guess %d: status %d", i, got)
			}
		}
		if got := try("[2001:db8::abcd]:1"); got != http.StatusTooManyRequests {
			t.Errorf("guess 11 from one network: status %d, want 429", got)
		}
		if got := try("192.0.2.1:1"); got != http.StatusUnauthorized {
			t.Errorf("a guess from elsewhere: status %d", got)
		}
		<-time.After(31 * time.Second)
		if got := try("[2001:db8::1]:1"); got != http.StatusUnauthorized {
			t.Errorf("half a minute later: status %d", got)
		}
	})
}

// Behind a proxy, who guesses locks out nobody but themselves.
func TestGuessesBehindAProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, 0, func(l *engineui.KeyLogin) {
			l.Address = func(r *http.Request) string { return r.Header.Get("X-Real-Ip") }
		})
		try := func(from, key string) int {
			return ask(d, http.MethodPost, "/login", url.Values{"key": {key}}.Encode(), http.Header{"X-Real-Ip": {from}}).Code
		}
		for i := range 10 {
			if got := try(fmt.Sprintf("2001:db8::%d", i+1), "wrong"); got != http.StatusUnauthorized {
				t.Errorf("guess %d: status %d", i, got)
			}
		}
		key := string(d.issue("acme", apikey.ScopeRead).Secret)
		if got := try("2001:db8::abcd", key); got != http.StatusTooManyRequests {
			t.Errorf("a try from the same network: status %d, want 429", got)
		}
		if got := try("2001:db8:0:1::1", key); got != http.StatusSeeOther {
			t.Errorf("a right key from elsewhere: status %d, want 303", got)
		}
	})
}

// Right keys use up no guesses.
func TestRightKeysAreNoGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, 0)
		key := string(d.issue("acme", apikey.ScopeRead).Secret)
		for i := range 30 {
			if got, _ := d.enter(key); got.Code != http.StatusSeeOther {
				t.Fatalf("login %d: status %d, want 303", i+1, got.Code)
			}
		}
	})
}

// Changes are limited by owner, and by the key's own rate.
func TestChangesAreLimited(t *testing.T) {
	for _, row := range []struct {
		rate, atOnce, perMinute int
	}{{rate: 5, atOnce: 5, perMinute: 5}, {rate: 0, atOnce: 10, perMinute: 60}, {rate: 6000, atOnce: 10, perMinute: 60}} {
		t.Run(fmt.Sprint(row.rate), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDoor(t, 0)
				hooks, err := d.engine.Endpoints().List(t.Context(), "acme", "")
				if err != nil {
					t.Fatal(err)
				}
				var sessions []*http.Cookie
				for range 2 {
					key, err := d.keys.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "console", Scope: apikey.ScopeWrite, RatePerMinute: row.rate})
					if err != nil {
						t.Fatal(err)
					}
					_, c := d.enter(string(key.Secret))
					sessions = append(sessions, c)
				}
				// change tries so many, and returns how many were allowed.
				change := func(most int) (allowed int) {
					for i := range most {
						c := sessions[i%2] // another key of the owner's is no way out
						got := ask(d, http.MethodPost, "/endpoint?endpoint="+hooks[0].ID, "action=pause", http.Header{"Cookie": {c.Name + "=" + c.Value}})
						switch {
						case got.Code == http.StatusSeeOther:
							allowed++
						case got.Code != http.StatusTooManyRequests || got.Header().Get("Retry-After") == "" || !strings.Contains(got.Body.String(), "Too many changes"):
							t.Fatalf("change %d: status %d: %s", i+1, got.Code, got.Body)
						}
					}
					return allowed
				}
				if got := change(row.atOnce + 5); got != row.atOnce {
					t.Errorf("%d changes at once, want %d", got, row.atOnce)
				}
				<-time.After(3*time.Minute/time.Duration(row.perMinute) + time.Millisecond)
				if got := change(10); got != 3 {
					t.Errorf("%d changes in the time of three", got)
				}
				globex, err := d.engine.Endpoints().List(t.Context(), "globex", "")
				if err != nil {
					t.Fatal(err)
				}
				_, c := d.enter(string(d.issue("globex", apikey.ScopeWrite).Secret))
				got := ask(d, http.MethodPost, "/endpoint?endpoint="+globex[0].ID, "action=pause", http.Header{"Cookie": {c.Name + "=" + c.Value}})
				if got.Code != http.StatusSeeOther {
					t.Errorf("another owner: status %d", got.Code)
				}
			})
		})
	}
}
