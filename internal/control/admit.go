package control

import (
	"context"
	"errors"
	"time"
)

// Later is an error of Admit: the change has to wait for something that others hold. The
// manager releases its lock, calls Wait, and then tries the whole change again, with what is
// stored by then. So a change that waits delays no other.
type Later struct {
	// Wait returns when Admit may be called again, or an error that ends the change.
	// waited is the result of the call before, 0 at first.
	Wait func(ctx context.Context, waited time.Duration) (time.Duration, error)
}

func (*Later) Error() string { return "control: the change has to wait for others" }

// ErrWaited is the cause of the context of Later.Wait when a change has waited as long as it
// may.
var ErrWaited = errors.New("control: the change has waited for others as long as it may")

// Admitted calls change, and while that returns a *Later, waits and calls it again. All waits
// together are bounded by maxWait. change must have no effect, and hold no lock, when it returns
// a *Later.
func Admitted(ctx context.Context, maxWait time.Duration, change func() error) error {
	err := change()
	var later *Later
	if !errors.As(err, &later) {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxWait, ErrWaited) // for the waits only: change has a context of its own
	defer cancel()
	for waited := time.Duration(0); errors.As(err, &later); err = change() {
		if waited, err = later.Wait(ctx, waited); err != nil {
			return err
		}
	}
	return err
}
