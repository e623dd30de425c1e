package streamwatch

import "errors"

// ErrNotStarted is what Ready gives before Start has returned.
var ErrNotStarted = errors.New("streamwatch: engine is not started")

// Ready reports whether the engine does its work: nil from the return of Start
// until Shutdown begins. Otherwise the error says what is missing: ErrNotStarted,
// ErrNotRunning after Shutdown began, or what an operator has to mend. It is meant
// for a readiness probe, asks no store, and does not block.
func (e *Engine) Ready() error {
	switch e.is() {
	case fresh:
		return ErrNotStarted
	case ended:
		return ErrNotRunning
	}
	return nil
}
