package mastodon

import (
	"errors"
	"regexp"
)

// accountSyntax matches account names with or without a host. It accepts the names of all
// supported servers. The host may have a port, because test servers have one.
var accountSyntax = regexp.MustCompile(`^[A-Za-z0-9_.-]+(@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?)?$`)

// CheckAccount returns an error if name is neither "user" nor "user@host". It makes no request.
// Use it as streamwatch.Source.CheckAccount.
func CheckAccount(name string) error {
	if !accountSyntax.MatchString(name) {
		return errors.New("user, of the server itself, or user@host")
	}
	return nil
}
