package apikey_test

import (
	"errors"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
)

// Each scope allows what those before it do; a key from before there were scopes
// may write, and an unknown word allows nothing but reading.
func TestScopes(t *testing.T) {
	for _, row := range []struct {
		scope        apikey.Scope
		write, admin bool
	}{
		{apikey.ScopeRead, false, false}, {apikey.ScopeWrite, true, false}, {apikey.ScopeAdmin, true, true},
		{"", true, false}, {"root", false, false},
	} {
		if row.scope.CanWrite() != row.write || row.scope.CanAdmin() != row.admin {
			t.Errorf("%q: CanWrite %t, CanAdmin %t", row.scope, row.scope.CanWrite(), row.scope.CanAdmin())
		}
	}
}

// A key's scope is its principal's, in a rotation also that of the new key.
func TestScopeOfAKey(t *testing.T) {
	o := newOffice(t, nil)
	for asked, want := range map[apikey.Scope]apikey.Scope{
		"": apikey.ScopeWrite, apikey.ScopeRead: apikey.ScopeRead, apikey.ScopeWrite: apikey.ScopeWrite, apikey.ScopeAdmin: apikey.ScopeAdmin,
	} {
		k := o.issue(t, func(r *apikey.IssueRequest) { r.Scope = asked })
		next, err := o.Rotate(t.Context(), "acme", k.ID, apikey.Rotation{Grace: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		for _, issued := range []apikey.Issued{k, next} {
			p, err := o.Authenticate(t.Context(), issued.Secret)
			if err != nil || p.Scope != want || issued.Scope != want {
				t.Errorf("asked for %q: key %q, principal %q, %v, want %q", asked, issued.Scope, p.Scope, err, want)
			}
		}
	}
	old := o.issue(t, nil)
	record := old.Key
	record.Scope = "" // as it was stored before there were scopes
	if err := o.store.Update(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if p, err := o.Authenticate(t.Context(), old.Secret); err != nil || p.Scope != apikey.ScopeWrite {
		t.Errorf("a key without a scope: %+v, %v, want write", p, err)
	}
}

// An owner cannot revoke the last valid key with scope admin, and can any other.
func TestRevokeButLast(t *testing.T) {
	o := newOffice(t, nil)
	admin := func(r *apikey.IssueRequest) { r.Scope = apikey.ScopeAdmin }
	first, plain := o.issue(t, admin), o.issue(t, nil)
	expiring := o.issue(t, func(r *apikey.IssueRequest) { admin(r); r.ExpiresAt = o.clock.Now().Add(time.Hour) })
	theirs := o.issue(t, func(r *apikey.IssueRequest) { admin(r); r.Owner = "globex" })
	o.clock.Advance(time.Hour)
	revoke := func(id string, want error) {
		t.Helper()
		if _, err := o.RevokeButLast(t.Context(), "acme", id); !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
	}
	revoke(first.ID, apikey.ErrLastAdmin)
	if o.who(t, first.Secret) != first.ID {
		t.Error("the last key with scope admin was revoked")
	}
	revoke(plain.ID, nil)
	revoke(expiring.ID, nil)
	revoke(theirs.ID, apikey.ErrNotFound)
	second := o.issue(t, admin)
	revoke(first.ID, nil)
	revoke(first.ID, nil) // again
	if o.who(t, first.Secret) != invalid {
		t.Error("a revoked key is valid")
	}
	revoke(second.ID, apikey.ErrLastAdmin)
}

// A key that ends sooner, such as one in its grace period after a rotation, does not stand in
// for the last with scope admin; the owner would have none when it has ended.
func TestRevokeButLastCountsNoKeyThatEndsSooner(t *testing.T) {
	o := newOffice(t, nil)
	old := o.issue(t, func(r *apikey.IssueRequest) { r.Scope = apikey.ScopeAdmin })
	next, err := o.Rotate(t.Context(), "acme", old.ID, apikey.Rotation{Grace: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	until := func(d time.Duration) string {
		return o.issue(t, func(r *apikey.IssueRequest) {
			r.Owner, r.Scope, r.ExpiresAt = "globex", apikey.ScopeAdmin, o.clock.Now().Add(d)
		}).ID
	}
	sooner, later, alike := until(time.Hour), until(2*time.Hour), until(2*time.Hour)
	for _, row := range []struct {
		owner, id string
		want      error
	}{
		{"acme", next.ID, apikey.ErrLastAdmin}, {"acme", old.ID, nil}, {"acme", next.ID, apikey.ErrLastAdmin},
		{"globex", alike, nil}, {"globex", later, apikey.ErrLastAdmin}, {"globex", sooner, nil},
	} {
		if _, err := o.RevokeButLast(t.Context(), row.owner, row.id); !errors.Is(err, row.want) {
			t.Errorf("%s of %s: error %v, want %v", row.id, row.owner, err, row.want)
		}
	}
	o.clock.Advance(time.Hour)
	if got := o.who(t, next.Secret); got != next.ID {
		t.Errorf("after the grace period: %s, want the key that the rotation made", got)
	}
}

// Of two that revoke each other at the same moment one is left.
func TestRevokeButLastAtOnce(t *testing.T) {
	for range 50 {
		o := newOffice(t, nil)
		admin := func(r *apikey.IssueRequest) { r.Scope = apikey.ScopeAdmin }
		errs := make(chan error)
		ids := []string{o.issue(t, admin).ID, o.issue(t, admin).ID}
		for _, id := range ids {
			go func() {
				_, err := o.RevokeButLast(t.Context(), "acme", id)
				errs <- err
			}()
		}
		if a, b := <-errs, <-errs; (a == nil) == (b == nil) {
			t.Fatalf("%v and %v, want one to be refused", a, b)
		}
	}
}
