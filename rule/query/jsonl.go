package query

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/streamwatch/streamwatch/fetcher"
)

// maxLine bounds a line of JSON, in bytes.
const maxLine = 1 << 20

// Reader reads posts from JSON Lines: one record in the wire format a line.
type Reader struct {
	lines *bufio.Scanner
	line  int
	err   error
}

// NewReader returns a Reader of r. A line can have up to 1 MiB.
func NewReader(r io.Reader) *Reader {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	return &Reader{lines: lines}
}

// Tweets yields the posts until the end or the first error; see Err. Empty
// lines are skipped. PublishedAt, which the wire format does not have, comes
// from the id or from created_at. Each post is the caller's to keep.
func (r *Reader) Tweets() iter.Seq[*fetcher.Tweet] {
	return func(yield func(*fetcher.Tweet) bool) {
		for r.err == nil && r.lines.Scan() {
			r.line++
			if len(r.lines.Bytes()) == 0 {
				continue
			}
			t := new(fetcher.Tweet)
			if err := json.Unmarshal(r.lines.Bytes(), t); err != nil {
				r.err = fmt.Errorf("rule: line %d is not a post: %w", r.line, err)
				return
			}
			if at, ok := publishedAt(t); ok {
				t.PublishedAt = at
			}
			if !yield(t) {
				return
			}
		}
	}
}

// Err is the error that ended Tweets, nil at the end of the input.
func (r *Reader) Err() error {
	if r.err != nil {
		return r.err
	}
	if err := r.lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("rule: line %d is longer than 1 MiB", r.line+1)
	} else if err != nil {
		return fmt.Errorf("rule: reading posts: %w", err)
	}
	return nil
}
