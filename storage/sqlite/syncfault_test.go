package sqlite

import (
	"context"
	"sync/atomic"
	"unsafe"

	result "modernc.org/sqlite/lib"
)

// syncFaults is how many more times syncing the log fails.
var syncFaults atomic.Int32

// xSync replaces the function of that name of the log's file. Its first parameter is
// the driver's thread.
var xSync = func(thread unsafe.Pointer, file uintptr, flags int32) int32 {
	if syncFaults.Add(-1) >= 0 {
		return result.SQLITE_IOERR_FSYNC
	}
	return result.SQLITE_OK
}

// FailSync makes the writer's connection fail to sync the log so many times. SQLite
// uses a file through a table of functions: the connection gets a copy of the table
// in which xSync is ours.
func (s *Store) FailSync(ctx context.Context, times int32) error {
	return s.write(ctx, func(t *tx) error {
		syncFaults.Store(times)
		return s.w.logFile(func(file uintptr) {
			methods := (**[19]uintptr)(at(file)) // sqlite3_io_methods: a version and 18 functions
			*methods = ours(*methods)
		})
	})
}

var table [19]uintptr // must not be freed: SQLite's memory refers to it

func ours(theirs *[19]uintptr) *[19]uintptr {
	table = *theirs
	table[5] = *(*uintptr)(unsafe.Pointer(&xSync))
	return &table
}

// at is a pointer into memory that is not Go's.
func at(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
