package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"sync"
)

// inUse holds the files that stores of this process have open. When a process closes any
// descriptor of a file, it loses all its POSIX locks on the file, including SQLite's. A file in
// inUse must therefore be read through SQLite only: https://sqlite.org/howtocorrupt.html
var inUse files

// files is a set of open files.
type files struct {
	mu   sync.Mutex
	open []*file
}

// file is a file that stores have open, possibly under several names.
type file struct {
	info   os.FileInfo
	stores int
}

// enter counts one more store on the file at path. If it is the first, enter calls inspect, and
// returns its error. f stays locked meanwhile: no other store can open the file.
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

// leave counts one store less on the file. The store's connections must be closed.
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

// connector connects to one file. It refuses another file that has taken its place.
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
