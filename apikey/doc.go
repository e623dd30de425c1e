// Package apikey issues and checks the API keys of a service's customers.
//
// A Manager issues, lists and revokes keys. To replace a key, issue another and revoke the old
// one. The store has only the SHA-256 of a key. A Manager is also an Authenticator, the only
// interface that a server needs. A service with another kind of keys implements Authenticator
// itself.
//
//	issued, err := keys.Issue(ctx, apikey.IssueRequest{Owner: "acme", Name: "production"})
//	// string(issued.Secret) is the key, shown only here: sw_live_…
//	…
//	who, err := keys.Authenticate(ctx, secret.Value(r.Header.Get("x-api-key")))
//	if errors.Is(err, apikey.ErrInvalid) {
//		// 401, whether the key is unknown, malformed, expired or revoked
//	}
//
// A key is "sw_live_", 32 random bytes as 43 characters of base62, and the CRC-32 of these 51
// characters as 6 characters of base62. Scanners for secrets find keys with Pattern. Because of
// the CRC-32, a mistyped key is refused without a call to the store.
//
// A key's scope is one of three: read, also write, or also administer the owner's keys. The
// server must check Principal.Scope, as package enginehttp does.
//
// The Manager that revokes a key refuses it from then on. Other Managers on the same store cache
// records for a second, so they refuse the key within a second.
package apikey
