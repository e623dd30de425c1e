package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// A backup is made beside who writes, opens as any store does, and has what was
// acknowledged before. It takes the place of no file.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	db, to := filepath.Join(dir, "a.db"), filepath.Join(dir, "the copy.db")
	do := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), process{Env: noEnv, Out: &out, Logs: io.Discard}, args)
		return out.String(), err
	}
	if _, err := do("key", "-owner", "acme", "-name", "laptop", "-db", db); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(context.Background())
	writing, stop := context.WithCancel(t.Context())
	began, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for n := 0; ; n++ {
			err := store.Ports().Ledger.Append(writing, billing.Entry{ID: fmt.Sprint(n), Owner: "acme", Kind: billing.KindTopUp, Amount: billing.Credit, At: time.Now()})
			if n == 0 {
				close(began)
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	<-began
	out, err := do("backup", "-db", db, "-to", to)
	stop()
	if failed := <-ended; !strings.Contains(failed.Error(), "canceled") {
		t.Errorf("who wrote meanwhile: %v", failed)
	}
	if err != nil || !strings.Contains(out, "of  "+db) || !strings.Contains(out, "in  "+to) {
		t.Fatalf("%v, %q", err, out)
	}
	if out, err := do("keys", "-owner", "acme", "-db", to); err != nil || !strings.Contains(out, "laptop") {
		t.Errorf("the copy: %v, %q", err, out)
	}
	copied, err := sqlite.Open(t.Context(), to, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	balance, err := copied.Ports().Ledger.Balance(t.Context(), "acme")
	if err := copied.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err != nil || balance.Available < billing.Credit {
		t.Errorf("the copy has %d of the first credit, %v", balance.Available, err)
	}
	before, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := do("backup", "-db", db, "-to", to); status(err) != 78 || !strings.Contains(err.Error(), fmt.Sprintf("-to %q is not allowed: want a file that is not there yet", to)) {
		t.Errorf("onto a file: %v", err)
	}
	if after, err := os.ReadFile(to); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file that was there has changed, %v", err)
	}
}

// What is not there is not copied, and nothing is left behind.
func TestBackupIsRefused(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for args, want := range map[string]string{
		"78 backup":               "-to is missing: want a new file for the copy",
		"78 backup -to b.db":      `db "streamwatch.db" is not allowed: want a database that is there`,
		"1 backup -db . -to b.db": `cannot copy -db "." to -to "b.db": sqlite: `,
		"78 STREAMWATCH_DB=redis://h:1 backup -to b.db": "STREAMWATCH_DB redis://h:1 is not allowed: Redis makes its own backups",
	} {
		words := strings.Fields(args)
		wantStatus, env, words := words[0], noEnv, words[1:]
		if name, value, ok := strings.Cut(words[0], "="); ok {
			env, words = func(n string) (string, bool) { return value, n == name }, words[1:]
		}
		err := run(t.Context(), process{Env: env, Out: io.Discard, Logs: io.Discard}, words)
		if err == nil || !strings.Contains(err.Error(), want) || fmt.Sprint(status(err)) != wantStatus {
			t.Errorf("%s: status %d, error %v, want %q", args, status(err), err, want)
		}
	}
	db := filepath.Join(dir, "a.db")
	if err := run(t.Context(), process{Env: noEnv, Out: io.Discard, Logs: io.Discard}, []string{"key", "-owner", "a", "-db", db}); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), process{Env: noEnv, Out: io.Discard, Logs: io.Discard}, []string{"backup", "-db", db, "-to", filepath.Join(dir, "none", "b.db")}); status(err) != 1 || !strings.Contains(err.Error(), "-to ") {
		t.Errorf("into no directory: %v", err)
	}
	// What is there and cannot be opened, by root neither.
	socket, err := net.Listen("unix", "s.db") // whose path is bounded
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := run(t.Context(), process{Env: noEnv, Out: io.Discard, Logs: io.Discard}, []string{"backup", "-db", "s.db", "-to", "b.db"}); status(err) != 1 || !strings.Contains(err.Error(), `-db "s.db"`) {
		t.Errorf("of what cannot be read: status %d, %v", status(err), err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "b.db*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
