package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// locks counts this process's shared locks on database files, as SQLite takes
// them: https://sqlite.org/fileformat.html#the_lock_byte_page
func locks(t *testing.T) (n int) {
	t.Helper()
	for line := range strings.Lines(string(read(t, "/proc/locks"))) {
		f := strings.Fields(line)
		if len(f) == 8 && f[4] == fmt.Sprint(os.Getpid()) && f[6] == "1073741826" {
			n++
		}
	}
	return n
}

// A process that closes any descriptor of a file loses all its POSIX locks on
// it. Without them another program takes the store for abandoned and removes
// the log that this one goes on writing to.
func TestASecondOpenKeepsTheLocksOfTheFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, _ := openAt(t, path, sqlite.Options{})
	furnish(t, s)
	if locks(t) == 0 {
		t.Skip("no /proc/locks, or nothing in it")
	}
	before := locks(t)
	again, _ := openAt(t, path, sqlite.Options{})
	if now := locks(t); now < before {
		t.Errorf("%d locks with the file open twice, want %d as before", now, before)
	}
	closed(t, again)
	if now := locks(t); now < before {
		t.Errorf("%d locks after the second was closed, want %d as before", now, before)
	}
}

// limitChild makes TestClaimTakesAnyLimit run itself as a process that may die.
const limitChild = "STREAMWATCH_TEST_SQLITE_LIMIT"

func TestClaimTakesAnyLimit(t *testing.T) {
	if os.Getenv(limitChild) != "" {
		ds, err := furnished(t).Outbox().Claim(t.Context(), deliver.ClaimRequest{Now: start, Lease: time.Hour, Limit: math.MaxInt})
		must(t, err)
		want(t, "claimed", len(ds), 1)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestClaimTakesAnyLimit$")
	child.Env = append(os.Environ(), limitChild+"=1")
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("the process ended with %v: %.60s", err, out)
	}
}

func TestOpenRefusesThroughALink(t *testing.T) {
	old := filepath.Join(t.TempDir(), "old.db")
	closed(t, worked(t, old))
	db := raw(t, old)
	run(t, db, "PRAGMA user_version = 1000")
	left := crash(t, old) // the newer version is in the log only
	link := filepath.Join(t.TempDir(), "link.db")
	must(t, os.Symlink(left, link))
	before := string(read(t, left)) + "|" + string(read(t, left+"-wal"))
	_, err := sqlite.Open(t.Context(), link, sqlite.Options{})
	wantErr(t, err, sqlite.ErrNewer)
	if string(read(t, left))+"|"+string(read(t, left+"-wal")) != before {
		t.Error("the file was changed")
	}
}

// A backup of nothing that says it succeeded is found out when it is needed.
func TestBackupOfAFileThatWasMovedAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, _ := openAt(t, path, sqlite.Options{})
	furnish(t, s)
	before := dump(t, s)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(path+suffix, path+".old"+suffix); err != nil {
			t.Skip(err) // not on every system
		}
	}
	to := filepath.Join(t.TempDir(), "b.db")
	if s.Backup(t.Context(), to) == nil {
		copied, _ := openAt(t, to, sqlite.Options{})
		want(t, "content", dump(t, copied), before)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("another file was made in its place")
	}
}

func TestBackupDoesNotReplaceAFileMadeMeanwhile(t *testing.T) {
	s := furnished(t)
	for range 5 { // until the file is made in time
		to := filepath.Join(t.TempDir(), "b.db")
		made := background(func() error {
			for {
				if files, err := os.ReadDir(filepath.Dir(to)); err != nil || len(files) > 0 {
					break
				}
			}
			f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err == nil {
				_, err = f.WriteString("mine")
				err = errors.Join(err, f.Close())
			}
			return err
		})
		err := s.Backup(t.Context(), to)
		if <-made == nil {
			wantErr(t, err, fs.ErrExist)
			want(t, "the other file", string(read(t, to)[:4]), "mine")
			return
		}
	}
	t.Skip("the backup was always faster")
}

// Reads that overlap, none of them long, must not make the log grow for ever.
func TestTheLogIsUsedAgainBesideOverlappingReads(t *testing.T) {
	const rounds, limit = 40, 64 << 20
	path := filepath.Join(t.TempDir(), "store.db")
	s, _ := openAt(t, path, sqlite.Options{})
	furnish(t, s)
	scan := func() (end func()) {
		begun, stop := make(chan struct{}), make(chan struct{})
		done := background(func() error {
			return s.Monitors().Scan(context.Background(), func(monitor.Monitor) error { close(begun); <-stop; return nil })
		})
		<-begun
		return func() { close(stop); must(t, <-done) }
	}
	end := scan()
	for round := range rounds {
		next := scan()
		end()
		end = next
		b := &detect.Batch{}
		for i := range 40 {
			ev := handled(acme, fmt.Sprint(round, "-", i), "log")
			ev.Body = bytes.Repeat([]byte("x"), 64<<10)
			b.Events = append(b.Events, ev)
		}
		commit(t, s, b)
	}
	end()
	commitAt(t, s, start, newEvent(acme, "last"))
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() > limit {
		t.Errorf("the log has %d MiB (error %v), want at most %d: each read lasted for two commits", info.Size()>>20, err, limit>>20)
	}
}

func TestLongReadsLeaveRoomForOthers(t *testing.T) {
	s := furnished(t)
	leave := make(chan struct{})
	var scans sync.WaitGroup
	defer scans.Wait()
	defer close(leave)
	for range 4 {
		begun := make(chan struct{})
		scans.Go(func() {
			s.Monitors().Scan(context.Background(), func(monitor.Monitor) error { close(begun); <-leave; return nil })
		})
		<-begun
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := s.Endpoints().Get(ctx, "acme", "kept") // asked for before each attempt
	must(t, err)
}

// A clock that was wrong for a while must not stop the removal by age until the
// time it showed.
func TestRetentionAfterAClockThatWasAhead(t *testing.T) {
	s, c := open(t, sqlite.Options{Retention: time.Hour})
	h := &history{T: t, s: s, c: c}
	settle := func(n int) {
		for range n {
			h.open(1)
			h.end(len(h.ds))
		}
	}
	c.Advance(365 * 24 * time.Hour)
	settle(100)
	c.Advance(-365 * 24 * time.Hour)
	settle(100)
	c.Advance(2 * time.Hour)
	for i := range 20 {
		commitAt(t, s, start, newEvent(globex, fmt.Sprint(i)))
	}
	if n := rows(t, s, "events"); n > 120 {
		t.Errorf("%d events in the file, want the 100 of the wrong time and the 20 new ones", n)
	}
}

// conformance opens stores of the suite; Join and Reopen go by the path.
func conformance() enginetest.StoreKit {
	now := enginetest.NewClock()
	var paths sync.Map
	at := func(t testing.TB, path string) storage.Store {
		s, err := sqlite.Open(context.Background(), path, sqlite.Options{Now: now.Now, Retention: time.Hour})
		must(t, err)
		paths.Store(s, path)
		return s
	}
	join := func(t testing.TB, s storage.Store) storage.Store {
		path, _ := paths.Load(s)
		return at(t, path.(string))
	}
	return enginetest.StoreKit{
		Open: func(t testing.TB) storage.Store { return at(t, filepath.Join(t.TempDir(), "store.db")) },
		Reopen: func(t testing.TB, s storage.Store) storage.Store {
			s.Close(context.Background())
			return join(t, s)
		},
		Join:     join,
		Features: enginetest.StoreFeatures{Durable: true, Shared: true},
		Clock:    now, Retention: time.Hour,
	}
}

func TestStoreConformance(t *testing.T) { enginetest.TestStore(t, conformance()) }

// Two stores on one file, as of two processes, commit and claim the same at once.
func TestTwoStoresAtOnce(t *testing.T) {
	const posts = 60
	path := filepath.Join(t.TempDir(), "store.db")
	one, _ := openAt(t, path, sqlite.Options{})
	two, _ := openAt(t, path, sqlite.Options{})
	must(t, one.Ledger().Append(t.Context(), entry("top-up", 1000)))
	var found, claimed atomic.Int64
	both := func(do func(s *sqlite.Store)) {
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() { do([]*sqlite.Store{one, two}[i%2]) })
		}
		wg.Wait()
	}
	both(func(s *sqlite.Store) {
		for i := range posts {
			b := &detect.Batch{
				DeliverBy: start, Events: []deliver.Event{handled(acme, fmt.Sprint(i), "log")},
				Charges: []billing.Entry{entry(fmt.Sprint("charge ", i), -1)},
			}
			if err := s.Journal().Commit(context.Background(), []*detect.Batch{b}); err != nil {
				t.Error(err)
			}
			found.Add(int64(len(b.Deliveries)))
		}
	})
	both(func(s *sqlite.Store) {
		for {
			ds, err := s.Outbox().Claim(context.Background(), deliver.ClaimRequest{Now: at(1), Lease: time.Hour, Limit: 3})
			if err != nil {
				t.Error(err)
			}
			if len(ds) == 0 {
				return
			}
			claimed.Add(int64(len(ds)))
		}
	})
	want(t, "told to be new", found.Load(), posts)
	want(t, "claimed", claimed.Load(), posts)
	wantBalance(t, two, "acme", 1000-posts, 0)
	for i, ev := range eventsOf(t, two, "acme") {
		want(t, "sequence number", ev.Seq, uint64(i+1))
	}
}

// A read that is cut short uses a connection that the next one gets.
func TestReadsCutShortHarmNoOthers(t *testing.T) {
	s := furnished(t)
	for i := range 200 {
		must(t, s.Monitors().Create(t.Context(), monitor.Monitor{ID: fmt.Sprint(i), Owner: "acme", Name: fmt.Sprint(i)}))
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 60 {
				if g%2 == 0 { // ends somewhere
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*10*time.Microsecond)
					s.Monitors().Scan(ctx, func(monitor.Monitor) error { return nil })
					cancel()
					continue
				}
				n := 0
				if err := s.Monitors().Scan(context.Background(), func(monitor.Monitor) error { n++; return nil }); err != nil || n != 201 {
					t.Errorf("%d monitors with error %v, want 201", n, err)
				}
			}
		})
	}
	wg.Wait()
}
