package sqlite_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// transactions counts the transactions in the log beside a file: the frame that ends
// one has the number of pages of the file.
// Format: https://sqlite.org/fileformat.html#the_write_ahead_log
func transactions(t testing.TB, path string) (n int) {
	t.Helper()
	wal := read(t, path+"-wal")
	const header, frame = 32, 24 + pageSize
	for at := header; at+frame <= len(wal); at += frame {
		if bytes.Equal(wal[at+8:at+16], wal[16:24]) && binary.BigEndian.Uint32(wal[at+4:]) != 0 {
			n++
		}
	}
	return n
}

// held is a store whose writer is busy, so that calls queue.
type held struct {
	*testing.T
	s       *sqlite.Store
	path    string
	end     chan struct{}
	blocker <-chan error
}

func hold(t *testing.T) *held {
	h := &held{T: t, path: filepath.Join(t.TempDir(), "store.db"), end: make(chan struct{})}
	h.s, _ = openAt(t, h.path, sqlite.Options{})
	must(t, h.s.Ports().Ledger.Append(t.Context(), entry("top-up", 1000)))
	begun := make(chan struct{})
	h.blocker = background(func() error { return h.s.Block(context.Background(), begun, h.end) })
	<-begun
	return h
}

func background(do func() error) <-chan error {
	result := make(chan error, 1)
	go func() { result <- do() }()
	return result
}

// queue makes a call in the background and returns when it is the nth that
// waits for the writer.
func (h *held) queue(n int, do func() error) <-chan error {
	result := background(do)
	for h.s.Queued() != n {
		runtime.Gosched()
	}
	return result
}

func (h *held) release() {
	close(h.end)
	must(h, <-h.blocker)
}

func TestACallInTheQueueCanBeWithdrawn(t *testing.T) {
	h := hold(t)
	ctx, cancel := context.WithCancel(t.Context())
	first := h.queue(1, func() error { return h.s.Ports().Ledger.Append(context.Background(), entry("first", -1)) })
	second := h.queue(2, func() error { return h.s.Ports().Ledger.Append(ctx, entry("second", -1)) })
	third := h.queue(3, func() error { return h.s.Ports().Ledger.Append(context.Background(), entry("third", -1)) })
	cancel()
	wantErr(t, <-second, context.Canceled) // though the writer is still busy
	h.release()
	must(t, <-first)
	must(t, <-third)
	want(t, "entries", entries(t, h.s, billing.EntryQuery{Owner: "acme"}), "third=998 first=999 top-up=1000")
}

// A call that has begun is finished though its context ends.
func TestACallThatHasBegunIsFinished(t *testing.T) {
	s, _ := open(t, sqlite.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	begun, end := make(chan struct{}), make(chan struct{})
	result := background(func() error { return s.Block(ctx, begun, end) })
	<-begun
	cancel()
	close(end)
	wantErr(t, <-result, nil)
}

func TestClose(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, row := range []struct {
		name          string
		ctx           context.Context
		closed, write error
		entries       string
	}{
		{"waits for the writes that are queued", t.Context(), nil, nil, "queued=999 top-up=1000"},
		{"refuses them when its context ends", ended, context.Canceled, sqlite.ErrClosed, "top-up=1000"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := hold(t)
			queued := h.queue(1, func() error { return h.s.Ports().Ledger.Append(context.Background(), entry("queued", -1)) })
			over := background(func() error { return h.s.Close(row.ctx) })
			// Until no new call gets in, and in the second case not even a queued one.
			for shut := false; !shut || row.closed != nil && !h.s.Stopped(); {
				_, _, err := h.s.Ports().Outbox.NextDue(t.Context(), nil)
				shut = errors.Is(err, sqlite.ErrClosed)
			}
			h.release() // the transaction under way is finished in any case
			wantErr(t, <-queued, row.write)
			wantErr(t, <-over, row.closed)
			again, _ := openAt(t, h.path, sqlite.Options{})
			want(t, "entries", entries(t, again, billing.EntryQuery{Owner: "acme"}), row.entries)
		})
	}
}

func TestCloseCutsReadsShort(t *testing.T) {
	s := furnished(t)
	begun := make(chan struct{})
	read := background(func() error { return s.SearchForEver(context.Background(), begun) })
	<-begun
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	wantErr(t, s.Close(ended), context.Canceled)
	wantErr(t, <-read, sqlite.ErrClosed)
}

// failures runs commits against a disk that fails and recovers, and checks the
// answers and the log.
func failures(t *testing.T, path string, s *sqlite.Store, log *bytes.Buffer, cause string, breakDisk, repair func()) {
	ctx := t.Context()
	body := bytes.Repeat([]byte("x"), 64<<10)
	big := func(tweet string) *detect.Batch {
		ev := handled(acme, tweet, "log")
		ev.Body = body
		return &detect.Batch{Cursor: &detect.Cursor{Target: tweet}, Events: []deliver.Event{ev}}
	}
	commit(t, s, big("before"))
	breakDisk()
	for range 3 {
		b := big("during")
		err := s.Ports().Journal.Commit(ctx, []*detect.Batch{b})
		if err == nil || !strings.Contains(err.Error(), cause) {
			t.Fatalf("error = %v, want one about %q", err, cause)
		}
		want(t, "deliveries in the batch", len(b.Deliveries), 0)
		want(t, "sequence number", b.Events[0].Seq, 0)
	}
	want(t, "events while it fails", tweets(eventsOf(t, s, "acme")), "1:before")
	repair()
	commit(t, s, big("during"), big("after"))
	want(t, "events", tweets(eventsOf(t, s, "acme")), "1:before 2:during 3:after")
	again, _ := openAt(t, crash(t, path), sqlite.Options{})
	want(t, "events after a crash", tweets(eventsOf(t, again, "acme")), "1:before 2:during 3:after")
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], cause) || !strings.Contains(lines[1], "works again") {
		t.Errorf("log = %q, want one line about %q and one about the recovery", lines, cause)
	}
}

func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	var log bytes.Buffer
	s, _ := openAt(t, path, sqlite.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	limit := func(pages string) func() {
		return func() {
			_, err := s.Ask(t.Context(), "PRAGMA max_page_count = "+pages)
			must(t, err)
		}
	}
	failures(t, path, s, &log, "full", limit("1"), limit("1000000"))
}

func TestAFileThatIsNotAtItsPath(t *testing.T) {
	for _, row := range []struct {
		name string
		lose func(path, kept string) error
	}{
		{"moved", os.Rename},
		{"removed", func(path, kept string) error { return errors.Join(os.Link(path, kept), os.Remove(path)) }},
		{"replaced", func(path, kept string) error {
			return errors.Join(os.Rename(path, kept), os.WriteFile(path, nil, 0o600))
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "store.db")
				var log bytes.Buffer
				s, _ := openAt(t, path, sqlite.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				eventsOf(t, s, "acme") // opens a connection for reads
				failures(t, path, s, &log, sqlite.ErrMoved.Error(), func() {
					must(t, row.lose(path, path+".kept"))
					<-time.After(time.Second)
				}, func() { must(t, os.Rename(path+".kept", path)) })
			})
		})
	}
}

// A panic in a call is an error of that call alone.
func TestAPanicIsAnErrorOfTheCall(t *testing.T) {
	h := hold(t)
	bad := h.queue(1, func() error { return h.s.Panic(context.Background()) })
	good := h.queue(2, func() error { return h.s.Ports().Ledger.Append(context.Background(), entry("good", -1)) })
	h.release()
	if err := <-bad; err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("error = %v, want the panic's text", err)
	}
	must(t, <-good)
	wantErr(t, h.s.Panic(t.Context()), errAny) // alone in its transaction
	want(t, "entries", entries(t, h.s, billing.EntryQuery{Owner: "acme"}), "good=999 top-up=1000")
}

// A clock that panics at the end of a transaction is an error of its calls.
func TestAPanicOfTheClock(t *testing.T) {
	var broken atomic.Bool
	s, err := sqlite.Open(t.Context(), newFile(t), sqlite.Options{Now: func() time.Time {
		if broken.Load() {
			panic("no time")
		}
		return start
	}})
	must(t, err)
	defer closed(t, s)
	m := monitor.Monitor{ID: "1", Owner: "acme", Name: "1"}
	broken.Store(true)
	wantErr(t, roles.Monitors(s.Ports().Records).Create(t.Context(), m), errAny)
	broken.Store(false)
	_, err = roles.Monitors(s.Ports().Records).Get(t.Context(), "acme", "1")
	wantErr(t, err, monitor.ErrNotFound)
	must(t, roles.Monitors(s.Ports().Records).Create(t.Context(), m))
}

// A call that waits for another program's lock can be withdrawn.
func TestACallThatWaitsForALockCanBeWithdrawn(t *testing.T) {
	path := newFile(t)
	s, _ := openAt(t, path, sqlite.Options{})
	other := raw(t, path)
	run(t, other, "BEGIN IMMEDIATE")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	began := time.Now()
	wantErr(t, s.Ports().Ledger.Append(ctx, entry("withdrawn", 1)), context.DeadlineExceeded)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("answered after %v, want soon after the 20 ms of the context", took)
	}
	run(t, other, "COMMIT")
	must(t, s.Ports().Ledger.Append(t.Context(), entry("kept", 1)))
	want(t, "entries", entries(t, s, billing.EntryQuery{Owner: "acme"}), "kept=1")
}

// When syncing fails, nothing is acknowledged. The next call overwrites what the log
// has of the failed one; a process that starts before finds it whole.
func TestASyncThatFails(t *testing.T) {
	defer sqlite.SetSynchronous("FULL")()
	var log bytes.Buffer
	path := newFile(t)
	s, _ := openAt(t, path, sqlite.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	batch := func(tweet string) []*detect.Batch {
		return []*detect.Batch{{
			Cursor: &detect.Cursor{Target: tweet}, Events: []deliver.Event{handled(acme, tweet, "log")},
			Charges: []billing.Entry{entry(tweet, 1)},
		}}
	}
	state := func(s *sqlite.Store) string {
		t.Helper()
		page, err := s.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme"})
		must(t, err)
		cursors, err := s.Ports().Journal.Cursors(t.Context(), "1", "2", "3")
		must(t, err)
		return fmt.Sprint(tweets(eventsOf(t, s, "acme")), ", cursors ", len(cursors), ", deliveries ", page.Total,
			", entries ", entries(t, s, billing.EntryQuery{Owner: "acme", Asc: true}))
	}
	const first, both = "1:1, cursors 1, deliveries 1, entries 1=1", "1:1 2:2, cursors 2, deliveries 2, entries 1=1 2=2"
	const instead = "1:1 2:3, cursors 2, deliveries 2, entries 1=1 3=2"
	must(t, s.Ports().Journal.Commit(t.Context(), batch("1")))
	must(t, s.FailSync(t.Context(), 1))
	err := s.Ports().Journal.Commit(t.Context(), batch("2"))
	if err == nil || !strings.Contains(err.Error(), "disk I/O error") {
		t.Errorf("error = %v, want one about the disk", err)
	}
	want(t, "after the failure", state(s), first)
	again, _ := openAt(t, crash(t, path), sqlite.Options{})
	if found := state(again); found != first && found != both {
		t.Errorf("found by a process that starts then: %q, want %q or %q", found, first, both)
	}
	must(t, s.Ports().Journal.Commit(t.Context(), batch("3")))
	want(t, "after the recovery", state(s), instead)
	again, _ = openAt(t, crash(t, path), sqlite.Options{})
	want(t, "found after the recovery", state(again), instead)
	if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "works again") {
		t.Errorf("log = %q, want a line about the failure and one about the recovery", log.String())
	}
}
