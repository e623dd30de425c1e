package arrivals

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Write writes a recording in the format of Read, to the nanosecond. It does not compress.
func Write(w io.Writer, a *Recording) error {
	if err := a.Validate(); err != nil {
		return fmt.Errorf("arrivals: %w", err)
	}
	start := time.Duration(a.Start.UnixNano())
	events := a.InOrder()
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# arrivals v1 name=%s accounts=%d events=%d start=%s end=%s\n",
		a.Name, len(a.Posts), len(events), formatUnix(start), formatUnix(start+a.Length))
	var line []byte
	for _, e := range events {
		line = strconv.AppendInt(line[:0], int64(e.Account), 10)
		line = append(appendUnix(append(line, '\t'), start+e.At), '\n')
		out.Write(line) // Flush has the error
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("arrivals: %w", err)
	}
	return nil
}

// InOrder returns all posts ordered by time, and posts of the same time by account.
func (a *Recording) InOrder() []Arrival {
	n := 0
	for _, posts := range a.Posts {
		n += len(posts)
	}
	events := make([]Arrival, 0, n)
	for account, posts := range a.Posts {
		for index, at := range posts {
			events = append(events, Arrival{at, int32(account), int32(index)})
		}
	}
	slices.SortStableFunc(events, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	return events
}

// Validate returns an error if a field of a recording is not allowed.
func (a *Recording) Validate() error {
	if a == nil {
		return errors.New("there is no recording: want one from Read or Generate")
	}
	if n := len(a.Posts); n < 1 || n > maxAccounts {
		return fmt.Errorf("%d accounts are not allowed: want 1 to %d", n, maxAccounts)
	}
	if strings.ContainsFunc(a.Name, unicode.IsSpace) {
		return fmt.Errorf("name %q is not allowed: want one without spaces", a.Name)
	}
	if a.Length <= 0 || a.Length > MaxLength {
		return fmt.Errorf("length %s is not allowed: want more than 0 and at most %s", a.Length, MaxLength)
	}
	if a.Start.Unix() < 0 || a.Start.Add(a.Length).Unix() >= maxUnixSeconds {
		return fmt.Errorf("start %s is not allowed: want 1970 or later, and the end in 2190 or earlier", a.Start)
	}
	total := 0
	for i, posts := range a.Posts {
		if total += len(posts); total > maxPosts {
			return fmt.Errorf("more than %d posts are not allowed", maxPosts)
		}
		if len(posts) > 0 && (!slices.IsSorted(posts) || posts[0] < 0 || posts[len(posts)-1] > a.Length) {
			return fmt.Errorf("posts of account %d are not allowed: want them sorted and from 0 to %s", i, a.Length)
		}
	}
	return nil
}

func formatUnix(t time.Duration) string { return string(appendUnix(nil, t)) }

func appendUnix(b []byte, t time.Duration) []byte {
	b = strconv.AppendInt(b, int64(t/time.Second), 10)
	if t %= time.Second; t > 0 {
		b = fmt.Appendf(b, ".%09d", int64(t))
		b = bytes.TrimRight(b, "0")
	}
	return b
}
