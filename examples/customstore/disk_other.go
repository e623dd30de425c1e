//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package main

import (
	"errors"
	"io/fs"
	"os"
)

// lock keeps others out until it is released. After a crash the file has to be
// removed by hand: nothing portable tells whether its maker still runs.
func lock(path string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, err
	}
	return func() error { return errors.Join(f.Close(), os.Remove(path)) }, nil
}

// syncDir does nothing: these systems put names on the disk by themselves, or
// have no way to ask for it.
func syncDir(string) error { return nil }
