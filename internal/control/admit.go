package control

import (
	"context"
	"errors"
	"time"
)

// Later is an error of Admit: something that others hold is in the way of the change. The
// manager leaves its lock, calls Wait, and then tries the whole change again, with what is
// stored by then. So those who wait hold up nobody else.
type Later struct {
	// Wait returns when Admit may be asked again, or the error of the change. Waited is
	// what the call before has returned, at first 0.
	Wait func(ctx context.Context, waited time.Duration) (time.Duration, error)
}

func (*Later) Error() string { return "control: the change has to wait for others" }

// ErrWaited is the cause with which the context of Later.Wait ends when a change has waited as
// long as it may.
var ErrWaited = errors.New("control: the change has waited for others as long as it may")

// Admitted makes a change that Admit may put off, for most in all. Change has to leave nothing
// behind, and to hold no lock, when it returns a *Later.
func Admitted(ctx context.Context, most time.Duration, change func() error) error {
	err := change()
	var later *Later
	if !errors.As(err, &later) {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, most, ErrWaited) // of the waits; change has its own
	defer cancel()
	for waited := time.Duration(0); errors.As(err, &later); err = change() {
		if waited, err = later.Wait(ctx, waited); err != nil {
			return err
		}
	}
	return err
}
