package deliver

import (
	"errors"
	"fmt"
	"strings"
)

// ErrSealed means that a stored secret cannot be read: there is no key for it, or the stored
// endpoint cannot be decoded. The error that wraps it names the endpoint and the field.
var ErrSealed = errors.New("deliver: stored secret cannot be opened")

// SealedPrefix is the prefix of secrets and header values that an endpoints.Store has
// encrypted.
const SealedPrefix = "sealed:"

// sealed reports whether an endpoints.Store has encrypted a value. Plain secrets and
// header values never begin with SealedPrefix: see CheckSecret.
func sealed(v Secret) bool { return strings.HasPrefix(string(v), SealedPrefix) }

// CheckOpen returns an error that wraps ErrSealed and names the first encrypted field, if a secret
// or header value of the endpoint is encrypted. This happens if the program uses no
// endpoints.Store.
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
