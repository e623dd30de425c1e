package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/streamwatch/streamwatch/secret"
)

// secrets are what serve takes from the environment alone.
type secrets struct{ sealKey, cursorKey, token secret.Value }

// values returns the secrets by name. They have no flags, and environment variables that
// are named as if they had.
func (s *secrets) values() map[string]*secret.Value {
	return map[string]*secret.Value{"seal-key": &s.sealKey, "cursor-key": &s.cursorKey, "token": &s.token}
}

// variableName is what the environment variable of a secret may be called.
var variableName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// secretOf returns the value of an environment variable, "" if it is not set. The error for
// a name that is not allowed does not show it: it may be the secret itself.
func secretOf(name string, env func(string) (string, bool)) (secret.Value, error) {
	if !variableName.MatchString(name) {
		return "", fmt.Errorf("%s is not allowed: want the name of an environment variable, of A-Z, 0-9 and _", secret.Redacted)
	}
	value, _ := env(name)
	return secret.Value(value), nil
}

// unset is a secret whose environment variable is empty or not set. Serve does not start
// then; check lists it.
type unset struct {
	at       string // what an error calls it
	name     string // of the secret, "" for the token of a source
	variable string
}

// Error says what is to be done.
func (u unset) Error() string {
	return fmt.Sprintf("%s is missing: the environment variable %.40s is empty or not set: set it, or name another", u.at, u.variable)
}

// isUnset reports whether the secret of that name has a variable that is not set.
func (c *config) isUnset(name string) bool {
	return slices.ContainsFunc(c.unset, func(u unset) bool { return u.name == name })
}

// unsetError returns an error for all secrets that are not set, nil if there are none.
func (c *config) unsetError() error {
	all := make([]error, len(c.unset))
	for i, u := range c.unset {
		all[i] = u
	}
	return errors.Join(all...)
}
