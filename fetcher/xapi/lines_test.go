package xapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	for name, row := range map[string]struct {
		sent string
		want []string
		end  error
	}{
		"nothing":                     {"", nil, io.EOF},
		"signs of life":               {"\r\n\n\r\n", []string{"", "", ""}, io.EOF},
		"both ends":                   {"a\r\nb\n\r\nc\r\n", []string{"a", "b", "", "c"}, io.EOF},
		"longer than the buffer":      {long + "\r\nb\n", []string{long, "b"}, io.EOF},
		"the last one is cut off":     {"a\r\n{\"data\":", []string{"a"}, io.ErrUnexpectedEOF},
		"cut off before its line end": {"a\r\nb", []string{"a"}, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			for _, from := range []io.Reader{strings.NewReader(row.sent), iotest.OneByteReader(strings.NewReader(row.sent)), iotest.DataErrReader(strings.NewReader(row.sent))} {
				got, err := readLines(newLines(from))
				if !slices.Equal(got, row.want) || err != row.end {
					t.Errorf("%.40q and %v, want %.40q and %v", got, err, row.want, row.end)
				}
			}
		})
	}
}

func readLines(l *lines) (got []string, err error) {
	for {
		line, err := l.next()
		if err != nil {
			return got, err
		}
		got = append(got, string(line))
	}
}

// A line that is too long is passed over, however long it is.
func TestLongLine(t *testing.T) {
	l := newLines(io.MultiReader(strings.NewReader("a\n"), io.LimitReader(endless{}, 3*maxLine), strings.NewReader("\nb\n")))
	for _, want := range []string{"a", "too long", "b"} {
		line, err := l.next()
		if want == "too long" {
			if !errors.Is(err, errLongRow) {
				t.Errorf("%d bytes and %v, want errLongRow", len(line), err)
			}
			continue
		}
		if string(line) != want || err != nil {
			t.Errorf("%.20q and %v, want %q", line, err, want)
		}
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "\r\n", "{\"data\":{}}\r\n\r\nx", "a\n\nb\r\r\n", strings.Repeat("x", 100)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		l := newLines(bytes.NewReader(sent))
		l.most = 64
		n := 0
		for {
			line, err := l.next()
			if err != nil && !errors.Is(err, errLongRow) {
				if err != io.EOF && err != io.ErrUnexpectedEOF {
					t.Errorf("ends with %v", err)
				}
				break
			}
			n++
			if len(line) > 64 || bytes.ContainsRune(line, '\n') {
				t.Errorf("a line %q", line)
			}
		}
		if n != bytes.Count(sent, []byte("\n")) {
			t.Errorf("%d lines, want %d", n, bytes.Count(sent, []byte("\n")))
		}
	})
}

// A stream that brings no line is given up; one whose lines nobody takes is not.
func TestPumpWatchesForSilence(t *testing.T) {
	for name, c := range map[string]struct {
		pause, hold time.Duration // between two lines, and before each is taken
		want        error
		lines       int
	}{
		"signs of life":  {20 * time.Second, 0, io.EOF, 10},
		"silent":         {silence + time.Second, 0, errSilent, 0},
		"nobody listens": {time.Second, 10 * time.Minute, io.EOF, 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from, to := io.Pipe()
				rows := make(chan row)
				var running sync.WaitGroup
				running.Go(func() { pump(t.Context(), from, func() { from.Close() }, rows) })
				running.Go(func() {
					for range 10 {
						<-time.After(c.pause)
						if _, err := to.Write([]byte("\r\n")); err != nil {
							return
						}
					}
					to.Close()
				})
				n := 0
				for r := range rows {
					<-time.After(c.hold)
					if r.err != nil {
						if !errors.Is(r.err, c.want) {
							t.Errorf("ends with %v, want %v", r.err, c.want)
						}
						break
					}
					n++
				}
				if n != c.lines {
					t.Errorf("%d lines, want %d", n, c.lines)
				}
				running.Wait()
			})
		})
	}
}

// A stream that nobody wants any more is closed.
func TestPumpEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { pump(ctx, from, func() {}, make(chan row)) })
		if _, err := to.Write([]byte("a\n")); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		cancel()
		running.Wait()
		if _, err := to.Write([]byte("b\n")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%v, want the body closed", err)
		}
	})
}
