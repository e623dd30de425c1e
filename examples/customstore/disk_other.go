//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package main

import (
	"errors"
	"io/fs"
	"os"
)

// lock excludes other stores until it is released. After a crash the file must be removed by hand,
// since no portable call tells whether the process that made it still runs.
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

// syncDir does nothing. These systems write directory entries to the disk by themselves, or have no
// call for it.
func syncDir(string) error { return nil }
