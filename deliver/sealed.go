package deliver

import (
	"errors"
	"fmt"
	"strings"
)

// ErrSealed: a stored secret cannot be opened, by the keys that there are or for
// lack of a endpoints.SealedStore. The error that wraps it
// names the endpoint and the field.
var ErrSealed = errors.New("deliver: stored secret cannot be opened")

// SealedPrefix begins the stored form of a secret or header value that a
// endpoints.SealedStore wrote.
const SealedPrefix = "sealed:"

// sealed reports whether a stored value is one that a endpoints.SealedStore wrote. No secret
// and no header's value begins so: see CheckSecret.
func sealed(v Secret) bool { return strings.HasPrefix(string(v), SealedPrefix) }

// CheckOpen reports the first secret of an endpoint that is still sealed because the
// store was opened without the endpoints.SealedStore that wrote it. The error wraps ErrSealed.
func (e *Endpoint) CheckOpen() error {
	refuse := func(field string) error {
		return fmt.Errorf("%w: %s of endpoint %q: it is sealed, and there is no key", ErrSealed, field, e.ID)
	}
	if sealed(e.Secret) {
		return refuse("secret")
	}
	for _, o := range e.OldSecrets {
		if sealed(o.Secret) {
			return refuse("old secret")
		}
	}
	for _, h := range e.Headers {
		if sealed(h.Value) {
			return refuse("header " + h.Name)
		}
	}
	return nil
}
