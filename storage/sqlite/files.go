package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"sync"
)

// inUse has the files that stores of this process have open. Closing any descriptor of a file
// releases all POSIX locks of the process on that file, including SQLite's. Therefore read a file
// in inUse only through SQLite: https://sqlite.org/howtocorrupt.html
var inUse files

// files is a set of open files.
type files struct {
	mu   sync.Mutex
	open []*file
}

// file is an open file. Stores may have it open under several names.
type file struct {
	info   os.FileInfo
	stores int
}

// enter counts one more store on the file at path. For the first store it calls inspect, and
// returns its error. It keeps f locked during that: no other store can open the file.
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

// leave counts one store less on a file. Close the store's connections first.
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

// connector connects to one file. It refuses another file that has been moved to the same path.
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
