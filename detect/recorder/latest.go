package recorder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// latest is the file that Options.Every writes.
const latest = "latest.jsonl.gz"

// keepLeft is how many of the files that earlier processes have left are kept. They do not
// count for Options.Keep: a process that is killed again and again would otherwise remove the
// dumps that say why.
const keepLeft = 4

// sizeOfPart is how many bytes a part without entries takes, by estimate. Such a part shows that
// the process was running.
const sizeOfPart = 128

// following is how far the file has followed the ring.
type following struct {
	part  *writing    // nil when the file has to begin anew
	file  os.FileInfo // of the file that this process has made
	next  int         // number of the first entry that is not in it
	bytes int         // of the entries in it, by estimate
}

// follow adds to the file what is new in the ring, so that a process which is killed leaves
// its last polls, however many the ring has. The file begins anew when it has more than twice
// what the ring may have, and when the ring has dropped entries that the file lacks: a
// recording has no holes.
func (r *Recorder) follow(f *following) error {
	entries, first := r.entries(f.next)
	if f.part == nil || first != f.next || f.bytes > 2*r.opts.Bytes {
		entries, first = r.entries(0)
		*f = following{part: newWriting(r.opts), next: first}
		err := r.create(latest, func(w io.Writer) error {
			return f.part.write(w, r.header("every "+r.opts.Every.String(), first), entries)
		})
		if err == nil {
			f.file, err = os.Stat(filepath.Join(r.opts.Dir, latest))
		}
		return errors.Join(f.wrote(entries, err), r.tidy())
	}
	return f.wrote(entries, f.add(filepath.Join(r.opts.Dir, latest), entries))
}

// add appends a part to the file.
func (f *following) add(name string, entries []entry) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if info, err := file.Stat(); err != nil || !os.SameFile(info, f.file) {
		return errors.Join(fmt.Errorf("recorder: %s is another process's by now: want a directory for each", name), err, file.Close())
	}
	err = f.part.write(file, nil, entries)
	if len(entries) > 0 {
		err = errors.Join(err, file.Sync())
	}
	return errors.Join(err, file.Close())
}

// wrote notes that entries are in the file. After an error the file begins anew.
func (f *following) wrote(entries []entry, err error) error {
	if err != nil {
		*f = following{}
		return err
	}
	f.next += len(entries)
	f.bytes += sizeOfPart
	for i := range entries {
		f.bytes += entries[i].bytes
	}
	return nil
}

// keepLatest gives the file of Options.Every that is there a name of its own: it may be
// all that a killed process has left, and the next one would replace it.
func (r *Recorder) keepLatest() error {
	left := filepath.Join(r.opts.Dir, latest)
	info, err := os.Stat(left)
	if err == nil {
		err = os.Rename(left, filepath.Join(r.opts.Dir, nameOf(info.ModTime(), "latest")))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
