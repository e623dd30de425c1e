package calls_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/storage/internal/calls"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errClosed = errors.New("closed")

// A call of 3 s is in progress when Close begins, with a second's patience or without end.
func TestClose(t *testing.T) {
	for _, row := range []struct {
		name     string
		patience time.Duration // of Close
		call     func(g *calls.Gate, ctx context.Context, f func(context.Context) error) error
		ends     time.Duration
		want     error // of the call
		closes   error
	}{
		{"a call", time.Minute, (*calls.Gate).Do, 3 * time.Second, nil, nil},
		{"a call that is cut", time.Second, (*calls.Gate).Do, time.Second, errClosed, context.DeadlineExceeded},
		{"a call that waits", time.Minute, (*calls.Gate).Wait, 0, errClosed, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := calls.New(errClosed)
				done := make(chan error, 1)
				began := time.Now()
				go func() {
					done <- row.call(g, t.Context(), func(ctx context.Context) error {
						select {
						case <-ctx.Done():
							return fmt.Errorf("ended after %s", time.Since(began))
						case <-time.After(3 * time.Second):
							return nil
						}
					})
				}()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), row.patience)
				defer cancel()
				var order []string
				note := func(what string) func() error {
					return func() error { order = append(order, what); return nil }
				}
				if err := g.Close(ctx, note("stop"), note("end")); !errors.Is(err, row.closes) {
					t.Errorf("Close: %v, want %v", err, row.closes)
				}
				if err := <-done; !errors.Is(err, row.want) {
					t.Errorf("the call: %v, want %v", err, row.want)
				}
				if took := time.Since(began); took != row.ends {
					t.Errorf("closed after %s, want %s", took, row.ends)
				}
				if got := fmt.Sprint(order); got != "[stop end]" {
					t.Errorf("Close called %s, want [stop end]", got)
				}
				never := func(context.Context) error { t.Error("a call was made after Close"); return nil }
				for what, err := range map[string]error{"Do": g.Do(t.Context(), never), "Wait": g.Wait(t.Context(), never),
					"Enter": g.Enter(), "Close": g.Close(t.Context(), note("again"), note("again"))} {
					if err != errClosed {
						t.Errorf("%s after Close: %v, want %v", what, err, errClosed)
					}
				}
			})
		})
	}
}

// The error of a call is that of its own context, if that has ended.
func TestErrors(t *testing.T) {
	g := calls.New(errClosed)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	own := errors.New("own")
	fail := func(context.Context) error { return own }
	for what, row := range map[string]struct{ err, want error }{
		"own": {g.Do(t.Context(), fail), own}, "the context's": {g.Do(ended, fail), context.Canceled},
	} {
		if row.err != row.want {
			t.Errorf("%s: %v, want %v", what, row.err, row.want)
		}
	}
}
