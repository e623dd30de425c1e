package sqlite_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// transactions counts those in the log beside a file: frames that end one say
// how many pages the file has then.
// Format: https://sqlite.org/fileformat.html#the_write_ahead_log
func transactions(t testing.TB, path string) (n int) {
	t.Helper()
	wal := read(t, path+"-wal")
	const header, frame = 32, 24 + 4096
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
	must(t, h.s.Ledger().Append(t.Context(), entry("top-up", 1000)))
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

// Calls that come while the writer is busy share the next transaction, and each
// gets its own answer.
func TestCallsShareATransaction(t *testing.T) {
	const callers = 40
	h := hold(t)
	before := transactions(t, h.path)
	var results []<-chan error
	for i := range callers {
		results = append(results, h.queue(i+1, func() error {
			switch i % 4 {
			case 1: // the second is not covered
				return h.s.Ledger().Append(context.Background(), entry(fmt.Sprint("a", i), -1), entry(fmt.Sprint("b", i), -5000))
			case 2:
				return h.s.Monitors().Update(context.Background(), monitor.Monitor{ID: "none", Owner: "acme"})
			}
			return h.s.Journal().Commit(context.Background(), []*detect.Batch{{Events: newEvents(acme, fmt.Sprint(i))}})
		}))
	}
	h.release()
	for i, result := range results {
		wantErr(t, <-result, []error{nil, billing.ErrInsufficient, monitor.ErrNotFound, nil}[i%4])
	}
	// One for all of them, and none for the one that wrote nothing.
	want(t, "transactions", transactions(t, h.path)-before, 1)
	want(t, "events", len(eventsOf(t, h.s, "acme")), callers/2)
	wantBalance(t, h.s, "acme", 1000, 0) // the refused left no half behind
}

func TestAGroupHasABound(t *testing.T) {
	const callers, group = 600, 256
	h := hold(t)
	before := transactions(t, h.path)
	var results []<-chan error
	for i := range callers {
		results = append(results, h.queue(i+1, func() error {
			return h.s.Ledger().Append(context.Background(), entry(fmt.Sprint(i), -1))
		}))
	}
	h.release()
	for _, result := range results {
		must(t, <-result)
	}
	want(t, "transactions", transactions(t, h.path)-before, (callers+group-1)/group)
	wantBalance(t, h.s, "acme", 1000-callers, 0)
}

func TestACallInTheQueueCanBeWithdrawn(t *testing.T) {
	h := hold(t)
	ctx, cancel := context.WithCancel(t.Context())
	first := h.queue(1, func() error { return h.s.Ledger().Append(context.Background(), entry("first", -1)) })
	second := h.queue(2, func() error { return h.s.Ledger().Append(ctx, entry("second", -1)) })
	third := h.queue(3, func() error { return h.s.Ledger().Append(context.Background(), entry("third", -1)) })
	cancel()
	wantErr(t, <-second, context.Canceled) // though the writer is still busy
	want(t, "queued", h.s.Queued(), 2)
	h.release()
	must(t, <-first)
	must(t, <-third)
	want(t, "entries", entries(t, h.s, billing.EntryQuery{Owner: "acme"}), "third=998 first=999 top-up=1000")
}

// A call that has begun is waited for: it is on the disk when it is answered.
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
			queued := h.queue(1, func() error { return h.s.Ledger().Append(context.Background(), entry("queued", -1)) })
			over := background(func() error { return h.s.Close(row.ctx) })
			// Until no new call gets in, and in the second case not even a queued one.
			for shut := false; !shut || row.closed != nil && !h.s.Stopped(); {
				_, _, err := h.s.Outbox().NextDue(t.Context())
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
	must(t, s.Monitors().Create(t.Context(), monitor.Monitor{ID: "2", Owner: "acme", Name: "2"}))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	calls := 0
	err := s.Monitors().Scan(t.Context(), func(monitor.Monitor) error {
		calls++
		wantErr(t, s.Close(ended), context.Canceled)
		return nil
	})
	wantErr(t, err, sqlite.ErrClosed)
	want(t, "calls", calls, 1)
}

// failures runs commits against a disk that fails and recovers. It stands in
// for what an operator sees: the answers and the log.
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
		err := s.Journal().Commit(ctx, []*detect.Batch{b})
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
