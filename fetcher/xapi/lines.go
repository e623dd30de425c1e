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
	// silence is how long pump waits for the next line before it closes the stream. X sends at
	// least an empty line every 20 s.
	silence = 45 * time.Second
	// maxLine is the largest accepted length of a line, in bytes. A post with all its included
	// records has at most about 100 KiB.
	maxLine = 4 << 20
)

var errSilent = errors.New("no line has come in time")

// row is a line of a stream without its line ending, or the error that ended the stream. An
// empty line is X's heartbeat.
type row struct {
	line []byte
	err  error
}

// pump sends the lines of body to a channel until ctx ends or reading fails, and then closes
// body. If reading fails, the last row has the error, or io.EOF at the end of the body. If no
// line comes within silence, pump calls giveUp, which must make reading fail, and the error is
// errSilent. Time spent waiting for the receiver of a row does not count.
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
