package record

import (
	"errors"
	"fmt"
)

// Errors of the ports. A call that returns one has changed nothing.
var (
	// ErrNotFound means that there is no such record or value, or that another owner has it.
	ErrNotFound = errors.New("record: not found")
	// ErrConflict means that the record or value has another version.
	ErrConflict = errors.New("record: another version is stored")
	// ErrDuplicate means that another record has the ID, Name or Lookup.
	ErrDuplicate = errors.New("record: the id, name or lookup is taken")
	// ErrGone means that the owner is refused: see Gone.
	ErrGone = errors.New("record: the owner was erased")
	// ErrTooOld means that the feed does not reach back far enough: see Store.Since.
	ErrTooOld = errors.New("record: the feed does not reach back far enough")
	// ErrInvalid means that the call is outside the limits of the port, such as a Change of
	// more than MaxChange records.
	ErrInvalid = errors.New("record: not valid")
)

// Error is an error about one record of a Change. It wraps ErrNotFound, ErrConflict,
// ErrDuplicate or ErrGone.
type Error struct {
	Key Key
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("%v: %s %q", e.Err, e.Key.Kind, e.Key.ID) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// LimitError means that a Change would exceed a limit.
type LimitError struct {
	Limit
	Have int64 // the sum after the change
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("record: a limit of %d would be exceeded: %d after the change", e.Max, e.Have)
}
