package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is a Memory of files, one for each feed, in a directory.
type Dir struct{ path string }

// NewDir returns a Memory in the directory path. It creates the directory if there is none.
func NewDir(path string) (*Dir, error) {
	if path == "" {
		return nil, errors.New("feed: directory \"\" is not allowed: want a path")
	}
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	return &Dir{path}, nil
}

// Load reads a feed's file.
func (d *Dir) Load(_ context.Context, feed string) ([]byte, error) {
	state, err := os.ReadFile(d.file(feed))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return state, err
}

// Save replaces a feed's file atomically: after a crash, the old file or the new file is there.
func (d *Dir) Save(_ context.Context, feed string, state []byte) (err error) {
	f, err := os.CreateTemp(d.path, "new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(state)
	if err = cmp.Or(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), d.file(feed))
	}
	return err
}

func (d *Dir) file(feed string) string { return filepath.Join(d.path, filepath.Base(feed)+".json") }
