package sqlite_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// A second store waits, says so once, and takes the file over with all that is in it when
// the first is closed.
func TestTheSecondStoreWaits(t *testing.T) {
	path := newFile(t)
	first, _ := openAt(t, path, sqlite.Options{})
	var log bytes.Buffer
	second := make(chan *sqlite.Store, 1)
	opened := background(func() error {
		s, err := sqlite.Open(context.Background(), path, sqlite.Options{Now: new(clock).Now, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		second <- s
		return err
	})
	commitAt(t, first, start, newEvents(acme, "1", "2")...)
	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := sqlite.Open(soon, path, sqlite.Options{})
	wantErr(t, err, sqlite.ErrInUse)
	wantErr(t, err, context.DeadlineExceeded)
	want(t, "opened while the first has the file", len(second), 0)
	commitAt(t, first, start, newEvent(acme, "3"))
	closed(t, first)
	must(t, <-opened)
	s := <-second
	defer closed(t, s)
	want(t, "events", tweets(eventsOf(t, s, "acme")), "1:1 2:2 3:3")
	want(t, "next", seqs(commitAt(t, s, start, newEvent(acme, "4")).Events), "4")
	if n := strings.Count(log.String(), "waiting until the process that has the file open ends"); n != 1 {
		t.Errorf("told %d times that it waits, want once: %s", n, log.String())
	}
}

// holdFile names the environment variable by which TestAKilledProcessLeavesTheFile runs
// itself as the process that is killed.
const holdFile = "STREAMWATCH_TEST_SQLITE_HOLD"

// Another process that is killed leaves the file to who waits for it.
func TestAKilledProcessLeavesTheFile(t *testing.T) {
	if path := os.Getenv(holdFile); path != "" {
		s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
		must(t, err)
		must(t, s.Ports().Ledger.Append(context.Background(), entry("kept", 1)))
		os.Stdout.WriteString("open\n")
		os.Stdin.Read(make([]byte, 1)) // until the process is killed
	}
	path := filepath.Join(t.TempDir(), "store.db")
	child := exec.Command(os.Args[0], "-test.run=^TestAKilledProcessLeavesTheFile$")
	child.Env = append(os.Environ(), holdFile+"="+path)
	out, err := child.StdoutPipe()
	must(t, err)
	_, err = child.StdinPipe()
	must(t, err)
	must(t, child.Start())
	_, err = out.Read(make([]byte, 5))
	must(t, err)
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = sqlite.Open(soon, path, sqlite.Options{})
	wantErr(t, err, sqlite.ErrInUse)
	opened := background(func() error {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err == nil {
			wantBalance(t, s, "acme", 1, 0)
			err = s.Close(context.Background())
		}
		return err
	})
	must(t, child.Process.Kill())
	must(t, <-opened)
	child.Wait()
}

// A store of a command works beside the one that has the file, and has no part in its work.
func TestAdminWorksBesideAStore(t *testing.T) {
	path := newFile(t)
	s, _ := openAt(t, path, sqlite.Options{})
	admin, _ := openAt(t, path, sqlite.Options{Admin: true})
	ctx := t.Context()
	key := record.Record{Key: record.Key{Kind: record.APIKey, ID: "k"}, Owner: "acme"}
	_, err := admin.Ports().Records.Apply(ctx, record.Change{Put: []record.Record{key}})
	must(t, err)
	must(t, admin.Ports().Ledger.Append(ctx, entry("top-up", 5)))
	wantBalance(t, s, "acme", 5, 0)
	_, err = s.Ports().Records.Get(ctx, "acme", key.Key)
	must(t, err)
	wantErr(t, admin.Ports().Journal.Commit(ctx, []*detect.Batch{{Events: newEvents(acme, "1")}}), sqlite.ErrAdmin)
	_, err = admin.Ports().Outbox.Claim(ctx, deliver.ClaimRequest{Now: start, Limit: 1})
	wantErr(t, err, sqlite.ErrAdmin)
	_, _, err = admin.Ports().Replays.Step(ctx, deliver.ReplayStep{})
	wantErr(t, err, sqlite.ErrAdmin)
	must(t, s.Ports().Ledger.Append(ctx, billing.Entry{ID: "more", Owner: "acme", Amount: 1}))
	wantBalance(t, admin, "acme", 6, 0)
}
