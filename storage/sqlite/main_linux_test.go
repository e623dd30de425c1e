package sqlite_test

import (
	"os"
	"strings"
	"syscall"
)

// Files of the tests are in memory where there is room: hundreds of stores are
// made, and what is synced to a disk no test here can see. A process that is
// killed leaves the same behind. Benchmarks are about the disk.
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
