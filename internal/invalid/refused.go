package invalid

import "errors"

// refused is an error caused by the record itself: see Refused.
type refused struct{ error }

func (r refused) Unwrap() error { return r.error }

// Refused marks an error as caused by the record itself: a retry with the same record is useless.
// It returns nil for nil.
func Refused(err error) error {
	if err == nil {
		return nil
	}
	return refused{err}
}

// IsRefused reports whether an error was marked by Refused.
func IsRefused(err error) bool {
	var r refused
	return errors.As(err, &r)
}
