package control

import (
	"context"
	"errors"
	"time"
)

// Later is an error of Admit: the change must wait until another change ends. The manager
// releases its lock, calls Wait, and then repeats the whole change with the records that are
// stored by then. So a change that waits does not delay others.
type Later struct {
	// Wait waits until Admit may be called again. An error ends the change. waited is the
	// duration that the previous call of Wait returned, or 0.
	Wait func(ctx context.Context, waited time.Duration) (time.Duration, error)
}

func (*Later) Error() string { return "control: the change must wait for another one" }

// ErrWaited is the cause of the end of Later.Wait's context when a change has waited too long.
var ErrWaited = errors.New("control: the change has waited too long for others")

// Admitted calls change. Each time change returns a *Later, Admitted waits and calls change
// again. All waits together take at most maxWait. A change that returns a *Later must have had no
// effect and hold no lock.
func Admitted(ctx context.Context, maxWait time.Duration, change func() error) error {
	err := change()
	var later *Later
	if !errors.As(err, &later) {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxWait, ErrWaited) // for the waits only: change does not use this ctx
	defer cancel()
	for waited := time.Duration(0); errors.As(err, &later); err = change() {
		if waited, err = later.Wait(ctx, waited); err != nil {
			return err
		}
	}
	return err
}
