package sqlite_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// Scrub gives up after 30 s, however long each try takes.
func TestScrubGivesUp(t *testing.T) {
	for _, try := range []time.Duration{0, 100 * time.Millisecond, 5 * time.Second} {
		t.Run(try.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := sqlite.ScrubTry(t.Context(), func() (bool, error) {
					<-time.After(try)
					return true, nil
				})
				wantErr(t, err, errAny)
				if took := time.Since(began); took < 30*time.Second || took > 36*time.Second {
					t.Errorf("gave up after %v, want 30 s and at most one try more", took)
				}
			})
		})
	}
}

// While Scrub waits for a read that goes on, writes have their turn.
func TestWritesGoOnWhileScrubWaits(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	s, _ := openAt(t, path, sqlite.Options{})
	commitAt(t, s, start, newEvent(acme, "before"))
	begun, end := make(chan struct{}), make(chan struct{})
	read := background(func() error { return s.Search(context.Background(), begun, end) })
	<-begun
	scrubbed := background(func() error { _, err := s.Scrub(context.Background()); return err })
	var failed error
	for i, began := 0, time.Now(); failed == nil && time.Since(began) < time.Second; i++ {
		asked := time.Now()
		failed = s.Ledger().Append(t.Context(), entry(fmt.Sprint(i), 1))
		if took := time.Since(asked); failed == nil && took >= 4*time.Second {
			failed = fmt.Errorf("it took %v", took)
		}
	}
	if failed != nil {
		t.Errorf("a write beside Scrub: %v; want it to wait for 0.1 s at a time", failed)
	}
	select {
	case err := <-scrubbed:
		t.Errorf("Scrub returned %v while a read needed the log", err)
	default:
	}
	close(end)
	must(t, <-read)
	must(t, <-scrubbed)
}

// Who has the file locked is waited for without end while Scrub goes on: a call waits until
// its context ends.
func TestWritesWaitForScrubByTheirContexts(t *testing.T) {
	path := newFile(t)
	s, _ := openAt(t, path, sqlite.Options{})
	must(t, s.LosePatience(t.Context()))
	other := raw(t, path)
	run(t, other, "BEGIN IMMEDIATE")
	wantErr(t, s.Ledger().Append(t.Context(), entry("beside another program", 1)), errAny)
	s.SetScrubbing(true)
	defer s.SetScrubbing(false)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	wantErr(t, s.Ledger().Append(ctx, entry("withdrawn", 1)), context.DeadlineExceeded)
	kept := background(func() error { return s.Ledger().Append(context.Background(), entry("kept", 1)) })
	run(t, other, "COMMIT")
	must(t, <-kept)
	want(t, "entries", entries(t, s, billing.EntryQuery{Owner: "acme"}), "kept=1")
}
