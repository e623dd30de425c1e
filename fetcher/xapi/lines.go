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
	// silence is how long a stream may send nothing before it is closed. X sends at
	// least an empty line every 20 s.
	silence = 45 * time.Second
	// maxLine is the length of the longest accepted line, in bytes. A post with all its
	// included records has at most some 100 KiB.
	maxLine = 4 << 20
)

var errSilent = errors.New("no line has come in time")

// row is a line of a stream, without its end, or the error that ended the stream. X sends
// an empty line as a sign of life.
type row struct {
	line []byte
	err  error
}

// pump sends the lines of body to a channel until ctx ends or reading fails; the last row
// then has the error, io.EOF at the end of the body. If no line comes within silence, pump
// calls giveUp, which must make reading fail, and the error is errSilent. The time in
// which nobody receives a row does not count. pump closes body.
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
