package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// The file begins with magic. Each line after it is one change:
//
//	<length of the JSON> <CRC-32C of the JSON> <JSON>\n
//
// The numbers have 8 hexadecimal digits. The JSON contains no line ends.
const (
	magic      = "streamwatch customstore 3\n"
	headerSize = len("00000000 00000000 ")
	slack      = 16 << 20 // bytes: the file may grow to twice its size after a rewrite, plus slack
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func frame(body []byte) []byte {
	line := fmt.Appendf(make([]byte, 0, headerSize+len(body)+1), "%08x %08x ", len(body), crc32.Checksum(body, castagnoli))
	return append(append(line, body...), '\n')
}

// unframe reads the line at the start of b. It reports false if frame cannot have made the line.
func unframe(b []byte) (body []byte, size int, ok bool) {
	if len(b) < headerSize {
		return nil, 0, false
	}
	length, err := strconv.ParseUint(string(b[:8]), 16, 31)
	if err != nil || int(length) >= len(b)-headerSize {
		return nil, 0, false
	}
	size = headerSize + int(length) + 1
	body = b[headerSize : size-1]
	return body, size, bytes.Equal(b[:size], frame(body))
}

// replay applies the lines of a file. It ignores an incomplete last line, which a crash has left. A
// damaged line before a complete one is an error, since its change was acknowledged.
func replay(data []byte) (*state, error) {
	if !bytes.HasPrefix(data, []byte(magic)) {
		return nil, ErrForeign
	}
	s := new(state)
	at := len(magic)
	for at < len(data) {
		body, size, ok := unframe(data[at:])
		if !ok {
			break
		}
		if err := s.read(body); err != nil {
			return nil, fmt.Errorf("%w: the line at byte %d: %w", ErrDamaged, at, err)
		}
		at += size
	}
	for later := at + 1; later < len(data); later++ {
		if _, _, ok := unframe(data[later:]); ok {
			return nil, fmt.Errorf("%w: the line at byte %d, before a whole one", ErrDamaged, at)
		}
	}
	return s, nil
}

// read applies one change as it is in the file.
func (s *state) read(body []byte) error {
	var d state
	if err := json.Unmarshal(body, &d); err != nil {
		return err
	}
	s.apply(&d)
	return nil
}

// file is what is used of an *os.File.
type file interface {
	io.WriteCloser
	Sync() error
}

// load reads the file, if there is one, and rewrites it.
func (s *Store) load() error {
	data, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = []byte(magic), nil
	}
	if err != nil {
		return err
	}
	if s.state, err = replay(data); err != nil {
		return err
	}
	return s.rewrite()
}

// snapshot is a file with the whole state in one line.
func (s *state) snapshot() ([]byte, error) {
	body, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return append([]byte(magic), frame(body)...), nil
}

// rewrite replaces the file by a new one with a single line. The old file stays until the new one is
// on the disk.
func (s *Store) rewrite() error {
	data, err := s.state.snapshot()
	if err != nil {
		return err
	}
	next := s.path + ".new"
	if err := writeFile(next, data); err != nil {
		return err
	}
	if s.file != nil {
		if err := s.file.Close(); err != nil {
			return err
		}
	}
	if err := os.Rename(next, s.path); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(s.path)); err != nil {
		return err
	}
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	s.file, s.size = f, len(data)
	s.full = 2*s.size + slack
	return nil
}

func writeFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// write writes a change to the disk, and then applies it to the state.
func (s *Store) write(body []byte) error {
	line := frame(body)
	if s.size+len(line) > s.full {
		if err := s.rewrite(); err != nil {
			return err
		}
	}
	if _, err := s.file.Write(line); err != nil {
		return err
	}
	if err := s.file.Sync(); err != nil {
		return err
	}
	s.size += len(line)
	return s.state.read(body)
}
