package sqlite

import (
	"context"
	"io"
	"reflect"
	"sync"
	"unsafe"

	result "modernc.org/sqlite/lib"
)

// Log is what a connection does to the log beside the file.
type Log interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
}

// logs are the logs that connections write to instead, by the address of SQLite's
// file.
var logs sync.Map

func logOf(file uintptr) Log {
	l, _ := logs.Load(file)
	return l.(Log)
}

// These replace functions of the log's file, as xSync does.
var (
	logWrite = func(_ unsafe.Pointer, file, data uintptr, n int32, offset int64) int32 {
		if _, err := logOf(file).WriteAt(unsafe.Slice((*byte)(at(data)), n), offset); err != nil {
			return result.SQLITE_IOERR_WRITE
		}
		return result.SQLITE_OK
	}
	logTruncate = func(_ unsafe.Pointer, file uintptr, size int64) int32 {
		if err := logOf(file).Truncate(size); err != nil {
			return result.SQLITE_IOERR_TRUNCATE
		}
		return result.SQLITE_OK
	}
	logSync = func(_ unsafe.Pointer, file uintptr, _ int32) int32 {
		if err := logOf(file).Sync(); err != nil {
			return result.SQLITE_IOERR_FSYNC
		}
		return result.SQLITE_OK
	}
	logTable [19]uintptr // must not be freed: SQLite's memory refers to it
	logOnce  sync.Once
)

// WriteLogTo makes the writer's connection write to l, which has to be the log that
// it reads. A new connection writes to the file again.
func (s *Store) WriteLogTo(ctx context.Context, l Log) error {
	return s.write(ctx, func(t *tx) error {
		return s.w.logFile(func(file uintptr) {
			methods := (**[19]uintptr)(at(file)) // sqlite3_io_methods: a version and 18 functions
			logOnce.Do(func() {
				logTable = **methods
				logTable[3] = *(*uintptr)(unsafe.Pointer(&logWrite))
				logTable[4] = *(*uintptr)(unsafe.Pointer(&logTruncate))
				logTable[5] = *(*uintptr)(unsafe.Pointer(&logSync))
			})
			logs.Store(file, l)
			*methods = &logTable
		})
	})
}

// logFile gives the address of SQLite's file that is the log of the writer's
// connection.
func (w *writer) logFile(do func(file uintptr)) error {
	return w.conn.Raw(func(c any) error {
		file := new(uintptr)
		conn := reflect.ValueOf(c).Elem()
		field := func(name string) reflect.Value {
			f := conn.FieldByName(name)
			return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
		}
		reflect.ValueOf(result.Xsqlite3_file_control).Call([]reflect.Value{
			field("tls"), field("db"), reflect.ValueOf(uintptr(0)),
			reflect.ValueOf(int32(result.SQLITE_FCNTL_JOURNAL_POINTER)), reflect.ValueOf(uintptr(unsafe.Pointer(file))),
		})
		do(*file)
		return nil
	})
}
