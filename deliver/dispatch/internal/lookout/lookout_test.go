package lookout

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Many lanes that wait do not hold up the end, and a store that fails is not asked for each.
func TestRunEnds(t *testing.T) {
	resting := func() map[string]string { return map[string]string{"a": "x", "b": "x", "c": "x"} }
	for name, row := range map[string]struct {
		fails bool
		calls int // until the third minute
	}{"the store answers": {calls: 4}, "the store fails": {fails: true, calls: 2}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stop, calls := make(chan struct{}), 0
				go func() {
					<-time.After(2*every + every/2)
					if row.fails {
						close(stop)
					}
				}()
				Run(t.Context(), stop, resting, func(context.Context, string, string) error {
					if calls++; row.fails {
						return errors.New("no store")
					}
					if calls == row.calls {
						close(stop)
					}
					return nil
				})
				if calls != row.calls {
					t.Errorf("%d calls, want %d", calls, row.calls)
				}
				<-time.After(every)
			})
		})
	}
}

// A call that hangs does not hold up the end.
func TestRunEndsACallThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop, began := make(chan struct{}), time.Now()
		go func() {
			<-time.After(every + time.Second)
			close(stop)
		}()
		Run(t.Context(), stop, func() map[string]string { return map[string]string{"a": "x", "b": "x"} }, func(ctx context.Context, _, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if took := time.Since(began); took != every+time.Second {
			t.Errorf("Run has ended after %s, want when it was stopped, after %s", took, every+time.Second)
		}
	})
}
