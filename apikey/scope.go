package apikey

// Scope says what a key may do. Each scope includes those before it. "" is ScopeWrite.
type Scope string

// Scopes of a key.
const (
	ScopeRead  Scope = "read"  // look, and change nothing
	ScopeWrite Scope = "write" // all but the keys
	ScopeAdmin Scope = "admin" // also list, make and revoke the owner's keys
)

// CanWrite reports whether the scope allows changes.
func (s Scope) CanWrite() bool { return s == "" || s == ScopeWrite || s == ScopeAdmin }

// CanAdmin reports whether the scope allows the administration of keys.
func (s Scope) CanAdmin() bool { return s == ScopeAdmin }

// orDefault is the scope by its name.
func (s Scope) orDefault() Scope {
	if s == "" {
		return ScopeWrite
	}
	return s
}
