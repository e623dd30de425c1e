package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"sync"
)

// inUse has the files that stores of this process have open. A process that closes
// any descriptor of a file loses all its POSIX locks on it, those of SQLite
// included. So a file in inUse must be read through SQLite only:
// https://sqlite.org/howtocorrupt.html
var inUse files

// files is a set of open files.
type files struct {
	mu   sync.Mutex
	open []*file
}

// file is a file that stores have open, by whatever names.
type file struct {
	info   os.FileInfo
	stores int
}

// enter counts one more store on the file at path. If none has it open yet, enter calls
// inspect first, which may refuse the file with an error, under the lock, so that no other
// store opens it meanwhile.
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

// leave counts one store less. Its connections must be closed.
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

// connector makes connections to one file, not to another that has taken its place.
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
