package streamwatch_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
)

// An engine is ready from the return of Start until Shutdown begins.
func TestReadyWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{})})
		if err := e.Ready(); !errors.Is(err, streamwatch.ErrNotStarted) {
			t.Errorf("Ready before Start = %v, want ErrNotStarted", err)
		}
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.Ready(); err != nil {
			t.Errorf("Ready while running = %v, want nil", err)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.Ready(); !errors.Is(err, streamwatch.ErrNotRunning) {
			t.Errorf("Ready after Shutdown = %v, want ErrNotRunning", err)
		}
	})
}
