package deliver

import (
	"errors"
	"fmt"
	"strings"
)

// ErrSealed: a stored secret cannot be opened, with the present keys or without an
// endpoints.SealedStore. The error that wraps it names the endpoint and the field.
var ErrSealed = errors.New("deliver: stored secret cannot be opened")

// SealedPrefix begins a secret or header value that an endpoints.SealedStore has stored.
const SealedPrefix = "sealed:"

// sealed reports whether an endpoints.SealedStore has stored a value. No secret and no
// header's value begins with SealedPrefix: see CheckSecret.
func sealed(v Secret) bool { return strings.HasPrefix(string(v), SealedPrefix) }

// CheckOpen reports the first secret of an endpoint that is still sealed, because the
// store was opened without an endpoints.SealedStore. The error wraps ErrSealed.
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
