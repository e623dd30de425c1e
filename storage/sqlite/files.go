package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"sync"
)

// inUse are the files that stores of this process have open. A process that
// closes any descriptor of a file loses all the POSIX locks it has on it, those
// of SQLite included, so that such a file must not be looked into but through
// SQLite: https://sqlite.org/howtocorrupt.html
var inUse files

type files struct {
	mu   sync.Mutex
	open []*file
}

// file is one that stores have open, under whatever names.
type file struct {
	info   os.FileInfo
	stores int
}

// enter counts a store that opens the file at path, which inspect lets pass or
// refuses before; one that is open has passed. One file is inspected at a time,
// so that none is opened meanwhile.
func (f *files) enter(path string, inspect func() error) (*file, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if info, err := os.Stat(path); err == nil {
		for _, known := range f.open {
			if os.SameFile(known.info, info) {
				known.stores++
				return known, nil
			}
		}
	}
	if err := inspect(); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, wrap(err)
	}
	entered := &file{info: info, stores: 1}
	f.open = append(f.open, entered)
	return entered, nil
}

// leave is called when a store has closed its connections.
func (f *files) leave(left *file) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if left.stores--; left.stores > 0 {
		return
	}
	for i, known := range f.open {
		if known == left {
			f.open = append(f.open[:i], f.open[i+1:]...)
			return
		}
	}
}

var errReplaced = errors.New("another file is in its place")

// connector makes connections to one file, not to what has taken its place.
type connector struct {
	driver.Connector
	path string
	file *file
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	info, err := os.Stat(c.path)
	if err == nil && !os.SameFile(info, c.file.info) {
		err = errReplaced
	}
	if err != nil {
		return nil, fmt.Errorf("the file was moved or removed while it was open: %w", err)
	}
	return c.Connector.Connect(ctx)
}
