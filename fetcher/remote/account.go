package remote

import (
	"errors"
	"regexp"
	"strings"

	"github.com/streamwatch/streamwatch/monitor"
)

// CheckAccount returns an error if no other service can have an account with that name. It makes
// no request: the other service decides which of the remaining names are valid. Use it as
// streamwatch.Source.CheckAccount.
func CheckAccount(name string) error {
	name, _, _ = strings.Cut(name, "://")
	last := name[strings.LastIndexByte(name, ':')+1:]
	if last != "." && last != ".." && !strings.HasPrefix(name, ":") && !strings.HasSuffix(name, ":") && !strings.Contains(name, "::") {
		return nil
	}
	return errors.New("an account of the other service, with the names of its sources there before it: name, source:name, source:source:name")
}

// accountKey is monitor.Key without an @ after the name of a source.
func accountKey(name string) string {
	key := monitor.Key(name)
	if strings.Contains(key, "://") {
		return key
	}
	return strings.ReplaceAll(key, ":@", ":")
}

// sourcePath matches the name of a source, after those of the sources that it comes through.
var sourcePath = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}(:[a-z][a-z0-9_-]{0,31})*$`)

// writtenWith reports whether the account with that key is written with the name of its source.
func writtenWith(key, source string) bool {
	return strings.HasPrefix(key, source+":") && sourcePath.MatchString(source)
}
