// Package apikey issues the keys by which a service knows its customers, and
// recognises them.
//
// A Manager issues, lists and revokes keys; a key is replaced by issuing another and
// revoking the old one. Its Store holds only the SHA-256
// of a key. A Manager is also an Authenticator, the one interface that a server
// needs: a service with its own kind of keys implements that instead.
//
//	issued, err := keys.Issue(ctx, apikey.IssueRequest{Owner: "acme", Name: "production"})
//	// string(issued.Secret) is the key, shown only here: sw_live_…
//	…
//	who, err := keys.Authenticate(ctx, secret.Value(r.Header.Get("x-api-key")))
//	if errors.Is(err, apikey.ErrInvalid) {
//		// 401: unknown, malformed, expired and revoked are one answer
//	}
//
// A key is "sw_live_", 32 random bytes as 43 characters of base62, and 6 more
// that are the CRC-32 of all before: a scanner finds it by Pattern, and a mistyped
// one is refused without asking the store.
//
// A key has a scope: it may read, also write, or also administer the owner's
// keys. Whoever serves requests holds them against Principal.Scope; package
// enginehttp does.
//
// A revoked key is refused at once by the Manager that revoked it, and within a
// second by others on the same store, which remember what they have read for
// that long.
package apikey
