package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/pgtest"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// copied runs the command.
func copied(t *testing.T, from, to string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), process{noEnv, &out, io.Discard}, []string{"copy", "-from", from, "-to", to})
	return out.String(), err
}

// A copy that is killed goes on when the command is made again. Until then no other command opens it.
func TestCopyThatIsKilled(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	store, err := sqlite.Open(t.Context(), from, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const events = 12_000
	for n := 0; n < events; n += 1000 {
		b := &detect.Batch{Charges: []billing.Entry{{ID: fmt.Sprint(n), Owner: "acme", Amount: billing.Credit, At: time.Now()}}}
		for i := range 1000 {
			b.Events = append(b.Events, deliver.Event{ID: fmt.Sprint("e", n+i), Source: deliver.Source{Owner: "acme", Kind: deliver.SourceMonitor, ID: "m"},
				Body: bytes.Repeat([]byte("x"), 500), Handlers: []string{"h"}})
		}
		if err := store.Ports().Journal.Commit(t.Context(), []*detect.Batch{b}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := run(ctx, process{noEnv, io.Discard, io.Discard}, []string{"copy", "-from", from, "-to", to}); status(err) != 1 || !strings.Contains(err.Error(), "-from "+from+": sqlite: file is in use") {
		t.Errorf("of a file in use: %v", err)
	}
	if err := store.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for size := range 2 {
		cmd := exec.Command(os.Args[0], "copy", "-from", from, "-to", to)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pgtest.Until(t, time.Minute, "a part of the copy", func() bool {
			info, err := os.Stat(to + "-wal")
			return err == nil && info.Size() > int64(1+size)<<20
		})
		cmd.Process.Kill()
		cmd.Wait()
		if _, err := os.Stat(to); err != nil {
			t.Fatal(err)
		}
		if err := run(t.Context(), process{noEnv, io.Discard, io.Discard}, []string{"keys", "-owner", "acme", "-db", to}); status(err) != 1 || !strings.Contains(err.Error(), "an unfinished copy: run streamwatch copy again") {
			t.Fatalf("keys of half a copy: %v", err)
		}
	}
	out, err := copied(t, from, to)
	for _, want := range []string{"events  12000  0.000", "deliveries  12000", "owners  1  12.000", "same"} {
		if !strings.Contains(strings.Join(strings.Fields(out), "  "), want) {
			t.Errorf("%v, %s, want %q", err, out, want)
		}
	}
	if err != nil || strings.Contains(out, "differs") {
		t.Errorf("%v, %s", err, out)
	}
	if err := run(t.Context(), process{noEnv, io.Discard, io.Discard}, []string{"keys", "-owner", "acme", "-db", to}); err != nil {
		t.Errorf("keys of the copy: %v", err)
	}
	if _, err := copied(t, from, to); status(err) != 1 || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("onto a store with data: %v", err)
	}
}

func TestCopyRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, row := range []struct {
		args string
		want string
	}{
		{"", "-from is missing: want a SQLite file"},
		{"-from a.db", "-to is missing: want a SQLite file"},
		{"-from mysql://me:pw@h/d -to b.db", "-from mysql://***@h/d is not allowed: want"},
		{"-from DIR/none.db -to DIR/b.db", "no store to copy"},
		{"-from redis://me:pw@h:x -to b.db", "-from *** is not allowed"},
		{"-from a.db b.db", `argument "b.db" is not allowed`},
	} {
		args := strings.Fields("copy " + row.args)
		for i := range args { // the path may have a space
			args[i] = strings.ReplaceAll(args[i], "DIR", dir)
		}
		err := run(t.Context(), process{noEnv, io.Discard, io.Discard}, args)
		if status(err) != 78 || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "pw") {
			t.Errorf("copy %s: status %d, error %v, want %q", row.args, status(err), err, row.want)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// Each kind of address works from end to end.
func TestCopyToPostgres(t *testing.T) {
	db := pgtest.Single(t, "fsync off").NewDatabase(t) + "&schema=of%20servers"
	dir := t.TempDir()
	from, back := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	if err := run(t.Context(), process{noEnv, io.Discard, io.Discard}, []string{"key", "-owner", "acme", "-name", "laptop", "-credits", "10", "-db", from}); err != nil {
		t.Fatal(err)
	}
	for _, step := range [][2]string{{from, db}, {db, back}} {
		if out, err := copied(t, step[0], step[1]); err != nil || strings.Contains(out, "differs") {
			t.Fatalf("%v: %v, %s", step, err, out)
		}
		var out bytes.Buffer
		if err := run(t.Context(), process{noEnv, &out, io.Discard}, []string{"keys", "-owner", "acme", "-db", step[1]}); err != nil || !strings.Contains(out.String(), "laptop") {
			t.Errorf("keys: %v, %s", err, &out)
		}
	}
}
