package invalid

import "errors"

// refused is an error that the same record brings again and again.
type refused struct{ error }

func (r refused) Unwrap() error { return r.error }

// Refused marks an error as one that the record itself is the reason of: trying again
// does not help. It returns nil for nil.
func Refused(err error) error {
	if err == nil {
		return nil
	}
	return refused{err}
}

// IsRefused reports whether Refused has marked an error.
func IsRefused(err error) bool {
	var r refused
	return errors.As(err, &r)
}
