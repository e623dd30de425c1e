package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

func TestBackup(t *testing.T) {
	s := furnished(t)
	before := dump(t, s)
	t.Chdir(t.TempDir())
	path := "it's a backup.db"
	must(t, s.Backup(t.Context(), path))
	commitAt(t, s, start, newEvent(source("acme", "src"), "later"))

	info, err := os.Stat(path)
	must(t, err)
	want(t, "mode", info.Mode().Perm(), fs.FileMode(0o600))
	var epochs []uint64
	for _, s := range []*sqlite.Store{s, nil, nil} {
		if s == nil {
			s, _ = openAt(t, path, sqlite.Options{})
			want(t, "content", dump(t, s), before)
		}
		epoch, err := s.Ports().Log.Epoch(t.Context())
		must(t, err)
		epochs = append(epochs, epoch)
		if len(epochs) > 1 {
			closed(t, s)
		}
	}
	if epochs[0] != 0 || epochs[1] == 0 || epochs[2] != epochs[1] {
		t.Errorf("epochs %d, want 0, and another one of the copy", epochs)
	}
	copied, _ := openAt(t, path, sqlite.Options{})
	b := commitAt(t, copied, start, newEvents(source("acme", "src"), "1", "2")...)
	want(t, "sequence numbers", seqs(b.Events), "0 2") // it goes on from there

	// Both stores find the same post, at times of their own, for the same endpoint.
	ids, made := map[string]bool{}, 0
	for i, s := range []*sqlite.Store{s, copied} {
		found := newEvent(source("acme", "src"), "3")
		found.Handlers, found.Body = []string{"log"}, fmt.Appendf(nil, "found at %d", i)
		for _, d := range commitAt(t, s, start, found).Deliveries {
			ids[d.ID] = true
			made++
		}
	}
	if len(ids) != made || made < 4 {
		t.Errorf("deliveries %v of the original and the copy, want another id for another body", ids)
	}
}

func TestBackupRefuses(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, row := range []struct {
		name, file string // in a directory that has taken.db
		ctx        context.Context
		want       error
	}{
		{"an existing file", "taken.db", t.Context(), fs.ErrExist},
		{"a missing directory", "none/b.db", t.Context(), fs.ErrNotExist},
		{"an ended context", "b.db", ended, context.Canceled},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "taken.db"), []byte("mine"), 0o600))
			wantErr(t, furnished(t).Backup(row.ctx, filepath.Join(dir, row.file)), row.want)
			want(t, "the other file", string(read(t, filepath.Join(dir, "taken.db"))), "mine")
			files, err := os.ReadDir(dir)
			must(t, err)
			want(t, "files", len(files), 1)
		})
	}
	s := furnished(t)
	closed(t, s)
	wantErr(t, s.Backup(t.Context(), filepath.Join(t.TempDir(), "b.db")), sqlite.ErrClosed)
}

func TestBackupFileRefuses(t *testing.T) {
	dir := t.TempDir()
	foreign, none := filepath.Join(dir, "foreign.db"), filepath.Join(dir, "none.db")
	must(t, os.WriteFile(foreign, []byte("no database, and long enough to have what is read of one's header, which has a hundred bytes in all"), 0o600))
	wantErr(t, sqlite.BackupFile(t.Context(), foreign, filepath.Join(dir, "b.db")), sqlite.ErrForeign)
	wantErr(t, sqlite.BackupFile(t.Context(), none, filepath.Join(dir, "b.db")), fs.ErrNotExist)
	path := filepath.Join(t.TempDir(), "store.db")
	s, _ := openAt(t, path, sqlite.Options{})
	furnish(t, s)
	wantErr(t, sqlite.BackupFile(t.Context(), path, foreign), fs.ErrExist)
	must(t, sqlite.BackupFile(t.Context(), path, filepath.Join(dir, "in use.db"))) // also in this process
	commitAt(t, s, start, newEvent(source("acme", "src"), "later"))
	files, err := os.ReadDir(dir)
	must(t, err)
	want(t, "files", len(files), 2)
}

// Backups of a store in use hold the state of one moment.
func TestBackupWhileWriting(t *testing.T) {
	s, _ := open(t, sqlite.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	written := background(func() error {
		for i := 0; ctx.Err() == nil; i++ {
			commitAt(t, s, start, handled(acme, fmt.Sprint(i), "log"), handled(globex, fmt.Sprint(i), "log"))
		}
		return errors.New("done")
	})
	dir := t.TempDir()
	for i := range 5 {
		path := filepath.Join(dir, fmt.Sprint(i))
		must(t, s.Backup(t.Context(), path))
		copied, _ := openAt(t, path, sqlite.Options{})
		evs := eventsOf(t, copied, "acme")
		want(t, "events of the other owner", len(eventsOf(t, copied, "globex")), len(evs))
		page, err := copied.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme"})
		must(t, err)
		want(t, "deliveries", page.Total, len(evs))
		closed(t, copied)
	}
	cancel()
	<-written
}

// A client that has seen more than a restored backup has gets a gap frame, in place of new events
// under the numbers that it knows.
func TestResumeOnARestoredBackup(t *testing.T) {
	s, _ := openAt(t, newFile(t), sqlite.Options{})
	commitAt(t, s, start, newEvents(source("acme", "src"), "1", "2")...)
	path := filepath.Join(t.TempDir(), "backup.db")
	must(t, s.Backup(t.Context(), path))
	copied, _ := openAt(t, path, sqlite.Options{})
	commitAt(t, copied, start, newEvents(source("acme", "src"), "4", "5")...)
	e := newEngine(t, streamwatch.Config{Store: copied, WebSocket: &wshub.Options{Authenticate: func(context.Context, secret.Value) (wshub.Identity, error) {
		return wshub.Identity{Owner: "acme", KeyID: "1"}, nil
	}}})
	must(t, e.Start(t.Context()))
	defer e.Shutdown(context.Background())
	server := httptest.NewServer(e.WebSocket())
	defer server.Close()
	for _, seen := range []string{"2", "3", "4"} {
		ws, _, err := websocket.Dial(t.Context(), strings.Replace(server.URL, "http", "ws", 1)+"?since="+seen,
			&websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {"key"}}})
		must(t, err)
		for _, wanted := range []string{`"type":"connected"`, `{"type":"gap","from_seq":1,"to_seq":4,"epoch":`} {
			_, frame, err := ws.Read(t.Context())
			must(t, err)
			if !strings.Contains(string(frame), wanted) {
				t.Errorf("a client that resumes after %s gets %s, want %s", seen, frame, wanted)
			}
		}
		ws.CloseNow()
	}
}
