package sqlite_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// fillLog commits so much that the log grows by some 2.5 MiB.
func fillLog(t *testing.T, s *sqlite.Store, name string) {
	t.Helper()
	b := &detect.Batch{}
	for i := range 40 {
		ev := handled(acme, fmt.Sprint(name, "-", i), "log")
		ev.Body = bytes.Repeat([]byte("x"), 64<<10)
		b.Events = append(b.Events, ev)
	}
	commit(t, s, b)
}

func logSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + "-wal")
	must(t, err)
	return info.Size()
}

// A read that lasts long holds up no write: the log grows, and is cut when the read has
// ended.
func TestTheLogBesideALongRead(t *testing.T) {
	path := newFile(t)
	s, _ := openAt(t, path, sqlite.Options{})
	begun, end := make(chan struct{}), make(chan struct{})
	done := background(func() error { return s.Search(context.Background(), begun, end) })
	<-begun
	for round := range 24 {
		fillLog(t, s, fmt.Sprint(round))
	}
	if size := logSize(t, path); size < 50<<20 {
		t.Errorf("the log has %d MiB beside a read that needs it, want all of it", size>>20)
	}
	close(end)
	must(t, <-done)
	for round := range 8 {
		fillLog(t, s, fmt.Sprint("after-", round))
	}
	must(t, s.Block(t.Context(), make(chan struct{}), closedChan())) // the writer is done with the last
	if size := logSize(t, path); size > 32<<20 {
		t.Errorf("the log has %d MiB after the read, want it cut to 32 MiB", size>>20)
	}
}

func closedChan() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
