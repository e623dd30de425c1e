package xapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
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

var errSilent = errors.New("no line has come in time")

// row is a line less its end, empty for a sign of life, or why there is none.
type row struct {
	line []byte
	err  error
}

// pump hands over the lines of a body until one is an error, or ctx ends. When none comes
// in time, which does not count while nobody takes one, it calls giveUp, which has to end
// the reading, and the error is errSilent. It closes the body.
func pump(ctx context.Context, body io.ReadCloser, giveUp func(), to chan<- row) {
	defer body.Close()
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	watch := time.AfterFunc(silence, giveUp)
	defer watch.Stop()
	for {
		var r row
		if lines.Scan() {
			r.line = bytes.Clone(bytes.TrimSpace(lines.Bytes()))
		} else if r.err = lines.Err(); r.err == nil {
			r.err = io.EOF
		}
		if !watch.Stop() {
			r.err = errSilent
		}
		select {
		case to <- r:
		case <-ctx.Done():
			return
		}
		if r.err != nil {
			return
		}
		watch.Reset(silence)
	}
}
