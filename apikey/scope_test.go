package apikey_test

import (
	"testing"

	"github.com/streamwatch/streamwatch/apikey"
)

// Each scope allows what those before it do, none is as write, and an unknown one allows nothing
// but reading.
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
