package main

import (
	"os"
	"strings"
	"syscall"
)

// Files of the tests are in memory where there is room: the store syncs each of its
// hundreds of files, and no test can see whether that reached a disk. Benchmarks use the
// disk.
func init() {
	for _, arg := range os.Args {
		if strings.HasPrefix(arg, "-test.bench=") {
			return
		}
	}
	const dir, tmpfs, room = "/dev/shm", 0x01021994, 256 << 20 // statfs(2)
	var fs syscall.Statfs_t
	if syscall.Statfs(dir, &fs) == nil && fs.Type == tmpfs && fs.Bavail*uint64(fs.Bsize) > room && syscall.Access(dir, 2) == nil {
		os.Setenv("TMPDIR", dir)
	}
}
