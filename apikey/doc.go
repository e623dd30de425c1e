// Package apikey issues and checks the API keys of a service's customers.
//
// A Manager issues, lists and revokes keys. To replace a key, issue another and revoke
// the old one. The Store has only the SHA-256 of a key. A Manager is also an
// Authenticator, the only interface that a server needs; a service with its own kind of
// keys implements it instead.
//
//	issued, err := keys.Issue(ctx, apikey.IssueRequest{Owner: "acme", Name: "production"})
//	// string(issued.Secret) is the key, shown only here: sw_live_…
//	…
//	who, err := keys.Authenticate(ctx, secret.Value(r.Header.Get("x-api-key")))
//	if errors.Is(err, apikey.ErrInvalid) {
//		// 401: unknown, malformed, expired and revoked are one answer
//	}
//
// A key is "sw_live_", 32 random bytes as 43 characters of base62, and the CRC-32 of all
// that as 6 characters of base62. Scanners for secrets find it with Pattern. A mistyped
// key is refused without asking the store.
//
// A key's scope says whether it may only read, also write, or also administer the
// owner's keys. The server must check Principal.Scope; package enginehttp does.
//
// The Manager that revokes a key refuses it at once. Other Managers on the same store
// cache records for a second, and refuse the key after at most that time.
package apikey
