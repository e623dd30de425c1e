package mastodon

import (
	"errors"
	"regexp"
)

// accountSyntax matches the names that any of the servers allows, with or without a
// host. The host may have a port, as test servers do.
var accountSyntax = regexp.MustCompile(`^[A-Za-z0-9_.-]+(@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?)?$`)

// CheckAccount returns an error if name is neither "user" nor "user@host". It makes no
// request. It can be used as a streamwatch.Source.CheckAccount.
func CheckAccount(name string) error {
	if !accountSyntax.MatchString(name) {
		return errors.New("user, of the server itself, or user@host")
	}
	return nil
}
