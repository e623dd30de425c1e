package mastodon

import (
	"errors"
	"regexp"
)

// accountSyntax has the names that any of the servers allows, and a host, with a port
// as test servers have it.
var accountSyntax = regexp.MustCompile(`^[A-Za-z0-9_.-]+(@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?)?$`)

// CheckAccount returns an error for a name that is neither "user" nor "user@host", in
// the form that streamwatch.Source.CheckAccount asks for. It makes no request.
func CheckAccount(name string) error {
	if !accountSyntax.MatchString(name) {
		return errors.New("user, of the server itself, or user@host")
	}
	return nil
}
