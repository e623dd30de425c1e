package apikey_test

import (
	"testing"

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

// A key's scope is its principal's.
func TestScopeOfAKey(t *testing.T) {
	o := newOffice(t, nil)
	for asked, want := range map[apikey.Scope]apikey.Scope{
		"": apikey.ScopeWrite, apikey.ScopeRead: apikey.ScopeRead, apikey.ScopeWrite: apikey.ScopeWrite, apikey.ScopeAdmin: apikey.ScopeAdmin,
	} {
		k := o.issue(t, func(r *apikey.IssueRequest) { r.Scope = asked })
		p, err := o.Authenticate(t.Context(), k.Secret)
		if err != nil || p.Scope != want || k.Scope != want {
			t.Errorf("asked for %q: key %q, principal %q, %v, want %q", asked, k.Scope, p.Scope, err, want)
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
