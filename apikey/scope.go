package apikey

// Scope is what a key may do. "" means ScopeWrite.
type Scope string

// Scopes of a key. Each includes the one before it.
const (
	ScopeRead  Scope = "read"  // read everything except keys
	ScopeWrite Scope = "write" // also change everything except keys
	ScopeAdmin Scope = "admin" // also list, create and revoke the owner's keys
)

// CanWrite reports whether the scope allows changes.
func (s Scope) CanWrite() bool { return s == "" || s == ScopeWrite || s == ScopeAdmin }

// CanAdmin reports whether the scope allows the administration of keys.
func (s Scope) CanAdmin() bool { return s == ScopeAdmin }
