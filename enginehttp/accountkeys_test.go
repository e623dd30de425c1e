package enginehttp_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/enginehttp"
)

// as sends a request with a new key of the given scope.
func (w *world) as(scope apikey.Scope, method, path, body string) answer {
	w.Helper()
	k, err := w.keys.Issue(w.Context(), apikey.IssueRequest{Owner: mine, Name: "scoped", Scope: scope})
	if err != nil {
		w.Fatal(err)
	}
	r := request(method, w.ids[mine].Replace(path), w.ids[mine].Replace(body))
	r.Header.Set("X-Api-Key", string(k.Secret))
	return w.send(r)
}

// Each route takes the scopes that it should. Any other gets 403 with the reason,
// changes nothing and costs nothing.
func TestScopesOverHTTP(t *testing.T) {
	changesNothing := []string{"POST /v1/web/scrape", "POST /v1/social/stream/filter-rules/validate"}
	for _, e := range endpoints {
		if !keyed(&e) {
			continue
		}
		reads := strings.HasPrefix(e.pattern, "GET ") || slices.Contains(changesNothing, e.pattern)
		admin := strings.Contains(e.pattern, "/account/keys")
		for scope, want := range map[apikey.Scope]string{
			apikey.ScopeRead:  map[bool]string{true: "", false: "this key may only read: want one with the scope write or admin"}[reads],
			apikey.ScopeWrite: "", apikey.ScopeAdmin: "", "": "",
		} {
			if admin && scope != apikey.ScopeAdmin {
				want = "this key may not administer keys: want one with the scope admin"
			}
			w := newWorld(t)
			before := w.state()
			a := w.as(scope, e.method(), e.path, e.body)
			if want == "" {
				if a.status != e.status {
					t.Errorf("%s with scope %q: %d %s", e.pattern, scope, a.status, a.body)
				}
				continue
			}
			if a.status != 403 || !strings.Contains(a.body, want) {
				t.Errorf("%s with scope %q: %d %s, want 403: %s", e.pattern, scope, a.status, a.body, want)
			}
			if spent, n := w.spent(mine); spent != 0 || n != 0 || w.state() != before {
				t.Errorf("%s with scope %q: charged %d, or changed something", e.pattern, scope, spent)
			}
		}
	}
}

// A key is created, used, listed without its secret, and revoked. It has the tier of
// the key that created it.
func TestLifeOfAKey(t *testing.T) {
	w := newWorld(t)
	a := w.do(mine, "POST", "/v1/account/keys", `{"name":"ci"}`)
	made := a.decode(t)
	key, id := made["key"].(string), made["id"].(string)
	if made["scope"] != "write" || made["tier"] != "pro" || made["status"] != "active" || made["expires_at"] != nil || !strings.HasPrefix(key, made["prefix"].(string)) {
		t.Errorf("%v", made)
	}
	use := func() int {
		r := request("GET", monitors, "")
		r.Header.Set("X-Api-Key", key)
		return w.send(r).status
	}
	if got := use(); got != 200 {
		t.Errorf("the new key: %d", got)
	}
	if a := w.do(mine, "GET", "/v1/account/keys", ""); strings.Contains(a.body, key) || !strings.Contains(a.body, id) || !strings.Contains(a.body, `"total":3,`) {
		t.Errorf("%s", a.body)
	}
	for range 2 {
		if a := w.do(mine, "DELETE", "/v1/account/keys/"+id, ""); a.status != 204 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if got := use(); got != 401 {
		t.Errorf("the revoked key: %d, want 401", got)
	}
	if a := w.do(mine, "GET", "/v1/account/keys?offset=2", ""); !strings.Contains(a.body, `"status":"revoked"`) || strings.Contains(a.body, `"revoked_at":null`) {
		t.Errorf("%s", a.body)
	}
	w.expiredKey()
	if a := w.do(mine, "GET", "/v1/account/keys?offset=3", ""); !strings.Contains(a.body, `"status":"expired"`) || strings.Contains(a.body, `"expires_at":null`) {
		t.Errorf("%s", a.body)
	}
}

// A key can revoke itself, also the last one with the scope admin. Keys can be administered
// without credits.
func TestKeyThatRevokesItself(t *testing.T) {
	w := newWorld(t)
	w.empty(mine)
	keys, err := w.keys.List(t.Context(), mine)
	if err != nil {
		t.Fatal(err)
	}
	if a := w.do(mine, "DELETE", "/v1/account/keys/"+keys[0].ID, ""); a.status != 204 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := w.do(mine, "GET", "/v1/account/keys", ""); a.status != 401 {
		t.Errorf("the key that revoked itself: %d", a.status)
	}
}

// One key too many is a 409. Without Options.Keys the endpoints answer 501.
func TestKeysAreBounded(t *testing.T) {
	w := newWorld(t)
	for range 98 {
		if _, err := w.keys.Issue(t.Context(), apikey.IssueRequest{Owner: mine, Name: "n"}); err != nil {
			t.Fatal(err)
		}
	}
	if a := w.do(mine, "POST", "/v1/account/keys", `{"name":"n"}`); a.status != 409 || !strings.Contains(a.body, "too many valid keys: revoke one first") {
		t.Errorf("%d %s", a.status, a.body)
	}
	h, err := enginehttp.New(w.engine, enginehttp.Options{Auth: w.keys})
	if err != nil {
		t.Fatal(err)
	}
	w.handler = h
	if a := w.do(mine, "GET", "/v1/account/keys", ""); a.status != 501 || !strings.Contains(a.body, "no administration of keys") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// An Idempotency-Key that is used again when its answer is not kept any more makes another
// key. The first, which may be in use, is not replaced, nor is the one that asks.
func TestIdempotencyKeyUsedAgainReplacesNoKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		body := `{"name":"bootstrap","scope":"admin"}`
		first := w.once("bootstrap", "POST", "/v1/account/keys", body)
		w.key[mine] = first.decode(t)["key"].(string)
		<-time.After(25 * time.Hour)
		second := w.once("bootstrap", "POST", "/v1/account/keys", body)
		if second.status != 201 || second.header.Get("Idempotent-Replayed") != "" {
			t.Fatalf("%d %s, want a new key", second.status, second.body)
		}
		if a := w.do(mine, "GET", monitors, ""); a.status != 200 {
			t.Errorf("the first key: %d %s", a.status, a.body)
		}
		w.key[mine] = second.decode(t)["key"].(string)
		if a := w.do(mine, "GET", "/v1/account/keys", ""); a.status != 200 || !strings.Contains(a.body, `"total":4,`) {
			t.Errorf("the second key: %d %s, want 4 keys", a.status, a.body)
		}
	})
}
