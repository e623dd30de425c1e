package apikey_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// office is a manager on a store of its own, with a clock that stands still.
type office struct {
	*apikey.Manager
	store apikey.Store
	clock *storetest.Clock
}

func newOffice(t *testing.T, change func(*apikey.Config)) office {
	t.Helper()
	clock := storetest.NewClock()
	cfg := apikey.Config{Store: memory.New(memory.Options{Now: clock.Now}).Keys(), Now: clock.Now}
	if change != nil {
		change(&cfg)
	}
	m, err := apikey.NewManager(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return office{m, cfg.Store, clock}
}

func (o office) issue(t *testing.T, change func(*apikey.IssueRequest)) apikey.Issued {
	t.Helper()
	r := apikey.IssueRequest{Owner: "acme", Name: "production", Tier: "gold", RatePerMinute: 600}
	if change != nil {
		change(&r)
	}
	k, err := o.Issue(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// who gives the id of the key's record, or the error.
func (o office) who(t *testing.T, key secret.Value) string {
	t.Helper()
	p, err := o.Authenticate(t.Context(), key)
	if err != nil {
		if p != (apikey.Principal{}) {
			t.Errorf("an error came with %+v", p)
		}
		return err.Error()
	}
	return p.KeyID
}

const invalid = "apikey: invalid key"

func TestIssue(t *testing.T) {
	o := newOffice(t, nil)
	k := o.issue(t, nil)
	key := string(k.Secret)
	if found := regexp.MustCompile(apikey.Pattern).FindString("x-api-key: " + key + "\n"); found != key {
		t.Errorf("Pattern finds %q in %q", found, key)
	}
	sum := sha256.Sum256([]byte(key))
	if k.Hash != hex.EncodeToString(sum[:]) || !strings.HasPrefix(key, k.Prefix) || len(k.Prefix) > 12 {
		t.Errorf("record %+v is not that of %s", k.Key, key)
	}
	p, err := o.Authenticate(t.Context(), k.Secret)
	if want := (apikey.Principal{Owner: "acme", KeyID: k.ID, Tier: "gold", Scope: apikey.ScopeWrite, RatePerMinute: 600}); p != want || err != nil {
		t.Errorf("Authenticate: %+v, %v, want %+v", p, err, want)
	}
	list, err := o.List(t.Context(), "acme")
	if err != nil || len(list) != 1 || list[0] != k.Key {
		t.Errorf("List: %+v, %v", list, err)
	}
	for _, print := range []string{fmt.Sprintf("%+v %#v", k, k), fmt.Sprintf("%+v", list)} {
		if strings.Contains(print, key) || strings.Contains(print, key[20:]) {
			t.Errorf("the key prints: %s", print)
		}
	}
	if other := o.issue(t, nil); other.Secret == k.Secret || other.ID == k.ID {
		t.Error("two keys are the same")
	}
}

func TestIssueRefusesAndNamesTheField(t *testing.T) {
	o := newOffice(t, nil)
	for _, row := range []struct {
		field  string
		change func(*apikey.IssueRequest)
	}{
		{"owner", func(r *apikey.IssueRequest) { r.Owner = strings.Repeat("o", 129) }},
		{"owner", func(r *apikey.IssueRequest) { r.Owner = "a\nb" }},
		{"name", func(r *apikey.IssueRequest) { r.Name = " " }},
		{"name", func(r *apikey.IssueRequest) { r.Name = strings.Repeat("é", 101) }},
		{"name", func(r *apikey.IssueRequest) { r.Name = "\xff" }},
		{"tier", func(r *apikey.IssueRequest) { r.Tier = strings.Repeat("t", 101) }},
		{"tier", func(r *apikey.IssueRequest) { r.Tier = "a\nb" }},
		{"rate_per_minute", func(r *apikey.IssueRequest) { r.RatePerMinute = -1 }},
		{"rate_per_minute", func(r *apikey.IssueRequest) { r.RatePerMinute = 1_000_001 }},
		{"scope", func(r *apikey.IssueRequest) { r.Scope = "root" }},
		{"expires_at", func(r *apikey.IssueRequest) { r.ExpiresAt = o.clock.Now() }},
	} {
		r := apikey.IssueRequest{Owner: "acme", Name: "n"}
		row.change(&r)
		_, err := o.Issue(t.Context(), r)
		var f *apikey.FieldError
		if !errors.As(err, &f) || f.Field != row.field {
			t.Errorf("%s: error %v", row.field, err)
		}
	}
	if list, _ := o.List(t.Context(), "acme"); len(list) != 0 {
		t.Errorf("refused requests left %d keys", len(list))
	}
}

// Whatever is wrong with a key, the answer is the same.
func TestInvalidKeysAreOneAnswer(t *testing.T) {
	o := newOffice(t, nil)
	good := o.issue(t, nil)
	revoked := o.issue(t, nil)
	if _, err := o.Revoke(t.Context(), "acme", revoked.ID); err != nil {
		t.Fatal(err)
	}
	expired := o.issue(t, func(r *apikey.IssueRequest) { r.ExpiresAt = o.clock.Now().Add(time.Hour) })
	unknown := newOffice(t, nil).issue(t, nil) // well-formed, of another service
	if o.who(t, expired.Secret) != expired.ID {
		t.Error("a key that has not expired is refused")
	}
	o.clock.Advance(time.Hour) // ExpiresAt is the first moment at which it is invalid
	key := string(good.Secret)
	for name, k := range map[string]secret.Value{
		"none": "", "unknown": unknown.Secret, "revoked": revoked.Secret, "expired": expired.Secret,
		"prefix alone": secret.Value(good.Prefix), "cut": good.Secret[:len(key)-1], "longer": good.Secret + "0", "space": " " + good.Secret,
		"other prefix": "sw_test_" + good.Secret[8:], "case": secret.Value(strings.ToLower(key)), "its hash": secret.Value(good.Hash),
		"one character changed": secret.Value(key[:20] + string(key[20]^1) + key[21:]), "long": secret.Value(strings.Repeat("a", 1<<20)),
	} {
		if got := o.who(t, k); got != invalid {
			t.Errorf("%s: %s, want %s", name, got, invalid)
		}
	}
	if o.who(t, good.Secret) != good.ID {
		t.Error("the good key is refused")
	}
}

func TestKeysOfAnOwnerAreBounded(t *testing.T) {
	o := newOffice(t, func(c *apikey.Config) { c.MaxKeys = 3 })
	ctx := t.Context()
	first, second := o.issue(t, nil), o.issue(t, nil)
	o.issue(t, nil)
	if _, err := o.Issue(ctx, apikey.IssueRequest{Owner: "acme", Name: "n"}); !errors.Is(err, apikey.ErrTooMany) {
		t.Fatalf("a fourth of three keys: %v", err)
	}
	o.issue(t, func(r *apikey.IssueRequest) { r.Owner = "globex" }) // has room
	for _, id := range []string{second.ID, first.ID} {
		if _, err := o.Revoke(ctx, "acme", id); err != nil {
			t.Fatal(err)
		}
	}
	o.issue(t, nil)
	list, _ := o.List(ctx, "acme")
	if len(list) != 3 || list[0].ID != second.ID {
		t.Errorf("a new key has to take the place of the oldest that has ended: %+v", list)
	}
}

func TestRevoke(t *testing.T) {
	o := newOffice(t, nil)
	k := o.issue(t, nil)
	if o.who(t, k.Secret) != k.ID { // and is remembered
		t.Fatal("a new key is refused")
	}
	if _, err := o.Revoke(t.Context(), "globex", k.ID); !errors.Is(err, apikey.ErrNotFound) {
		t.Errorf("revoked another owner's key: %v", err)
	}
	revoked, err := o.Revoke(t.Context(), "acme", k.ID)
	if err != nil || !revoked.RevokedAt.Equal(o.clock.Now()) {
		t.Errorf("Revoke: %+v, %v", revoked, err)
	}
	if got := o.who(t, k.Secret); got != invalid {
		t.Errorf("revoked by this manager, and accepted: %s", got)
	}
	o.clock.Advance(time.Hour)
	again, err := o.Revoke(t.Context(), "acme", k.ID)
	if err != nil || again != revoked {
		t.Errorf("revoked again: %+v, %v, want it as it was", again, err)
	}
}

func TestDelete(t *testing.T) {
	o := newOffice(t, nil)
	k := o.issue(t, nil)
	if o.who(t, k.Secret) != k.ID { // and is remembered
		t.Fatal("a new key is refused")
	}
	if err := o.Delete(t.Context(), "globex", k.ID); err != nil || o.who(t, k.Secret) != k.ID {
		t.Errorf("deleted another owner's key: %v", err)
	}
	for range 2 { // the second time there is none
		if err := o.Delete(t.Context(), "acme", k.ID); err != nil {
			t.Error(err)
		}
		if got := o.who(t, k.Secret); got != invalid {
			t.Errorf("deleted by this manager, and accepted: %s", got)
		}
	}
	if list, err := o.List(t.Context(), "acme"); err != nil || len(list) != 0 {
		t.Errorf("%d keys are left, %v", len(list), err)
	}
}
