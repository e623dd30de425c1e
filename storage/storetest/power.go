package storetest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// ErrPowerLost is returned by the methods of a PowerFile that has lost power.
var ErrPowerLost = errors.New("storetest: the file has lost power")

// PowerFile is a file that can lose data that was not synced, as a disk does when the power fails.
// Test a durable store with PowerFiles instead of *os.File to show that it syncs before it
// acknowledges. Kit.Reopen then opens what LosePower has left.
//
// Written data is in a real file immediately, where other handles and processes can read it. Sync
// only marks it as safe. The data that the file has when it is opened counts as synced. A PowerFile
// cannot test whether the name of a new file survives a power loss; for that its directory must be
// synced.
//
// It is safe for concurrent use.
type PowerFile struct {
	mu       sync.Mutex
	f        *os.File
	atEnd    bool // opened with O_APPEND
	pos      int64
	unsynced []edit
	lost     bool
}

// edit is a change since the last Sync, with the data to undo it.
type edit struct {
	at       int64
	data     []byte // written; nil for a Truncate
	size     int64  // of the file before the edit
	replaced []byte // the bytes from at on that the edit replaced
}

// OpenPowerFile opens the named file like os.OpenFile, but always for reading and writing.
func OpenPowerFile(name string, flag int, perm fs.FileMode) (*PowerFile, error) {
	const own = os.O_RDONLY | os.O_WRONLY | os.O_RDWR | os.O_APPEND
	f, err := os.OpenFile(name, flag&^own|os.O_RDWR, perm)
	if err != nil {
		return nil, err
	}
	return &PowerFile{f: f, atEnd: flag&os.O_APPEND != 0}, nil
}

// Read reads from where the last Read, Write or Seek ended.
func (p *PowerFile) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost {
		return 0, ErrPowerLost
	}
	n, err := p.f.ReadAt(b, p.pos)
	p.pos += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// ReadAt reads from byte at on.
func (p *PowerFile) ReadAt(b []byte, at int64) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost {
		return 0, ErrPowerLost
	}
	return p.f.ReadAt(b, at)
}

// Write writes at the position where the last Read, Write or Seek ended. If the file was opened
// with os.O_APPEND, it writes at the end.
func (p *PowerFile) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.atEnd && !p.lost {
		size, err := p.size()
		if err != nil {
			return 0, err
		}
		p.pos = size
	}
	n, err := p.write(b, p.pos)
	p.pos += int64(n)
	return n, err
}

// WriteAt writes from byte at on.
func (p *PowerFile) WriteAt(b []byte, at int64) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.write(b, at)
}

func (p *PowerFile) write(b []byte, at int64) (int, error) {
	if err := p.record(edit{at: at, data: append([]byte{}, b...)}, int64(len(b))); err != nil {
		return 0, err
	}
	return p.f.WriteAt(b, at)
}

// Truncate makes the file size bytes long.
func (p *PowerFile) Truncate(size int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.record(edit{at: size}, -1); err != nil {
		return err
	}
	return p.f.Truncate(size)
}

// record saves the bytes that an edit replaces: n bytes, or all bytes to the end if n is -1.
func (p *PowerFile) record(e edit, n int64) (err error) {
	if p.lost {
		return ErrPowerLost
	}
	if e.size, err = p.size(); err != nil {
		return err
	}
	there := max(e.size-e.at, 0)
	if n >= 0 {
		there = min(there, n)
	}
	e.replaced = make([]byte, there)
	if _, err := p.f.ReadAt(e.replaced, e.at); err != nil && there > 0 {
		return err
	}
	p.unsynced = append(p.unsynced, e)
	return nil
}

func (p *PowerFile) size() (int64, error) {
	info, err := p.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Seek sets the position of the next Read or Write, like os.File.Seek.
func (p *PowerFile) Seek(offset int64, whence int) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.lost:
		return 0, ErrPowerLost
	case whence == io.SeekCurrent:
		offset += p.pos
	case whence == io.SeekEnd:
		size, err := p.size()
		if err != nil {
			return 0, err
		}
		offset += size
	}
	if offset < 0 {
		return 0, fmt.Errorf("storetest: seek to byte %d: cannot be before the start of the file", offset)
	}
	p.pos = offset
	return p.pos, nil
}

// Sync makes the data written so far survive LosePower.
func (p *PowerFile) Sync() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost {
		return ErrPowerLost
	}
	p.unsynced = nil
	return nil
}

// Close closes the file, and keeps data that was not synced. After LosePower it does nothing.
func (p *PowerFile) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost {
		return nil
	}
	p.unsynced = nil
	return p.f.Close()
}

// LosePower undoes all writes and Truncates since the last Sync, and closes the file. Every later
// call except Close returns ErrPowerLost. A disk may also have stored a part of the data that was
// not synced. Therefore the first keep bytes written since the last Sync stay, with the Truncates
// before them. Tests should call it with 0, and with a number that ends within a write.
func (p *PowerFile) LosePower(keep int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost {
		return ErrPowerLost
	}
	p.lost = true
	var err error
	for i := len(p.unsynced) - 1; i >= 0; i-- {
		e := p.unsynced[i]
		_, werr := p.f.WriteAt(e.replaced, e.at)
		err = errors.Join(err, werr, p.f.Truncate(e.size))
	}
	for _, e := range p.unsynced {
		if keep <= 0 {
			break
		}
		if e.data == nil {
			err = errors.Join(err, p.f.Truncate(e.at))
			continue
		}
		_, werr := p.f.WriteAt(e.data[:min(keep, len(e.data))], e.at)
		err = errors.Join(err, werr)
		keep -= len(e.data)
	}
	return errors.Join(err, p.f.Close())
}
