package xapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// silence is how long a stream may bring no line. X sends an empty one every
	// 20 s at least.
	silence = 45 * time.Second
	// maxLine bounds a line, in bytes. A post with all that it includes has some
	// 100 KiB at most.
	maxLine = 4 << 20
)

var (
	errSilent  = errors.New("no line has come in time")
	errLongRow = fmt.Errorf("a line is longer than %d bytes", maxLine)
)

// lines reads a stream's lines, which end with "\n" or "\r\n".
type lines struct {
	from *bufio.Reader
	most int // bytes of a line
}

func newLines(r io.Reader) *lines {
	return &lines{from: bufio.NewReaderSize(r, 64<<10), most: maxLine}
}

// next gives a line less its end, in memory of its own; an empty one is a sign of
// life. A line that is too long is passed over, which is errLongRow. One that the
// connection's end cuts off is none.
func (l *lines) next() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.from.ReadSlice('\n')
		switch {
		case long:
		case len(line)+len(part) > l.most:
			line, long = nil, true
		default:
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && (long || len(line) > 0):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case long:
			return nil, errLongRow
		default:
			return bytes.TrimSpace(line), nil
		}
	}
}

// row is a line, or why there is none.
type row struct {
	line []byte
	err  error
}

// pump hands over the lines of a body until one is an error other than errLongRow, or
// ctx ends. When none comes in time, which does not count while nobody takes one, it
// calls giveUp, which has to end the reading, and the error is errSilent. It closes the
// body.
func pump(ctx context.Context, body io.ReadCloser, giveUp func(), to chan<- row) {
	defer body.Close()
	l := newLines(body)
	watch := time.AfterFunc(silence, giveUp)
	defer watch.Stop()
	for {
		line, err := l.next()
		if !watch.Stop() {
			err = errSilent
		}
		select {
		case to <- row{line, err}:
		case <-ctx.Done():
			return
		}
		if err != nil && !errors.Is(err, errLongRow) {
			return
		}
		watch.Reset(silence)
	}
}
