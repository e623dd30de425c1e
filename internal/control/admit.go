package control

import (
	"context"
	"errors"
	"time"
)

// Later is an error of Admit: the change must wait until another change ends. The manager
// releases its lock, calls Wait, and then tries the whole change again, from the records stored
// by then. So a change that waits does not delay others.
type Later struct {
	// Wait waits until Admit may be called again, or returns an error that ends the change.
	// waited is the result of the previous call of Wait, 0 for the first.
	Wait func(ctx context.Context, waited time.Duration) (time.Duration, error)
}

func (*Later) Error() string { return "control: the change must wait for another one" }

// ErrWaited is the cause with which the context of Later.Wait ends if a change has waited too
// long.
var ErrWaited = errors.New("control: the change has waited too long for others")

// Admitted calls change. Each time change returns a *Later, Admitted waits and calls it again.
// All waits together take at most maxWait. If change returns a *Later, it must have had no
// effect and hold no lock.
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
