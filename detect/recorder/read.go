package recorder

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Recording is a dump that was read.
type Recording struct {
	// Made is when the dump was written, or added to last, and Why what for.
	Made time.Time
	Why  string
	// Plain: nothing in it is hidden.
	Plain bool
	// Polls is how many polls it has, and Lost how many before them had given way.
	Polls, Lost int

	lines []line
	runs  map[int]*run
}

// ErrCut is wrapped by the error of Read for a dump that ends before its end, as after a
// loss of power, with a full disk, or of a copy that was broken off.
var ErrCut = errors.New("the recording is cut")

// Read reads what Dump has written, all of it into memory. It refuses other formats and
// versions, and a dump that was changed. Of one that was cut it returns what is before the
// cut, up to the last whole line, together with an error that wraps ErrCut and says how many
// polls these are. They can be played, but may have been changed: the checksum that would
// tell is at the end of a whole dump.
func Read(r io.Reader) (*Recording, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("recorder: %w", err)
	}
	// Zeros are where a file system has made room that was never written. A whole dump
	// ends with its sum and its length, which are eight bytes and not all zero.
	if written := bytes.TrimRight(data, "\x00"); len(data)-len(written) >= 8 {
		data = written
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("recorder: not a recording: %w", err)
	}
	dec := json.NewDecoder(zip)
	var first line
	if err := dec.Decode(&first); err != nil {
		return nil, fmt.Errorf("recorder: not a recording: %w", err)
	}
	switch h := first.Header; {
	case h == nil || h.Format != formatName:
		return nil, fmt.Errorf("recorder: not a recording: the first line is no header of a %q", formatName)
	case h.Version != formatVersion:
		return nil, fmt.Errorf("recorder: version %d is not allowed: want %d; play it with the release that made it", h.Version, formatVersion)
	}
	rec := &Recording{Made: first.Header.Made, Why: first.Header.Why, Plain: first.Header.Plain, Lost: first.Header.Lost, runs: map[int]*run{}}
	ended := false
	for n := 2; ; n++ {
		var l line
		if err := dec.Decode(&l); err != nil {
			if ended && errors.Is(err, io.EOF) { // and the checksum behind the last line was right
				return rec, nil
			}
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return rec, rec.cut(n)
			}
			return nil, fmt.Errorf("recorder: line %d: %w", n, err)
		}
		known := 0
		ended = false
		switch {
		case l.End != nil:
			if l.End.Polls != rec.Polls {
				return nil, fmt.Errorf("recorder: line %d: %d polls were written, and %d are there", n, l.End.Polls, rec.Polls)
			}
			if made := l.End.Made; !made.IsZero() {
				rec.Made = made
			}
			ended = true // unless something was added, which has an end of its own
			continue
		case l.Run != nil:
			rec.runs[l.Run.Run] = l.Run
			known = l.Run.Run
		case l.Poll != nil:
			rec.Polls++
			known = l.Poll.Run
		case l.Released != nil:
			known = l.Released.Run
		}
		if rec.runs[known] == nil {
			return nil, fmt.Errorf("recorder: line %d: run %d is not allowed: want one of a line before", n, known)
		}
		rec.lines = append(rec.lines, l)
	}
}

// cut returns the error of a recording whose n-th line is not whole.
func (rec *Recording) cut(n int) error {
	return fmt.Errorf("recorder: line %d: %w: want an end behind the %d polls before it: %w", n, ErrCut, rec.Polls, io.ErrUnexpectedEOF)
}
